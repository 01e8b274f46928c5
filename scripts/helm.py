"""The two commands of Helm that check-chart.sh needs, for machines without it: Helm's own engine, from helm-python-sdk.

helm.py lint --strict --values FILE CHART
helm.py template --namespace NAMESPACE --values FILE RELEASE CHART
"""

import argparse
import sys

import helm_python as helm

# The order in which Helm prints kinds (releaseutil.InstallOrder), of those that the chart has.
KINDS = ["NetworkPolicy", "ConfigMap", "Service", "StatefulSet", "PrometheusRule", "ServiceMonitor"]


def lint(args, values):
    report = helm.lint(args.chart, values, strict=args.strict)
    for message in report["messages"]:
        print(message["path"], message["error"])
    return 1 if report["errors"] or any(m["severity"] >= (2 if args.strict else 3) for m in report["messages"]) else 0


def template(args, values):
    with helm.Chart.load(args.chart) as chart:
        chart.validate_schema(values)
        rendered = chart.render(values, name=args.release, namespace=args.namespace, is_install=True)
    documents = []
    for path, text in rendered.items():
        if path.endswith(".yaml"):
            documents += [(path, document.strip()) for document in text.split("\n---\n") if document.strip()]
    kind = lambda document: document[document.index("kind: ") :].split()[1]
    for path, document in sorted(documents, key=lambda d: KINDS.index(kind(d[1]))):
        print(f"---\n# Source: {path}\n{document}")
    return 0


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("lint")
    command.add_argument("--strict", action="store_true")
    command.set_defaults(run=lint)
    command = commands.add_parser("template")
    command.add_argument("--namespace", default="default")
    command.add_argument("release")
    command.set_defaults(run=template)
    for command in commands.choices.values():
        command.add_argument("--values")
        command.add_argument("chart")
    args = parser.parse_args()
    values = {}
    if args.values:
        with open(args.values) as file:
            values = helm.values_from_yaml(file.read())
    try:
        return args.run(args, values)
    except helm.HelmError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


sys.exit(main())
