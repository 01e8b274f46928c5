#!/bin/bash
# Checks the Helm chart: `helm lint`, that deploy/kubernetes/recrawl.yaml is what the chart renders, that good values give
# valid Kubernetes objects, and that bad values are refused. `check-chart.sh --write` writes recrawl.yaml anew.
# Uses `helm` if it is installed, else Helm's engine from a Python package (scripts/helm.py). Needs Python 3.10 or later with
# venv, and a package index on the first run. Says what was not checked, and exits with 3 then.
set -euo pipefail
cd "$(dirname "$0")/.."

chart=deploy/helm/recrawl plain=deploy/kubernetes/recrawl.yaml values=deploy/kubernetes/values.yaml
built=${CARGO_TARGET_DIR:-target}/chart
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
skipped=0

packages=(kubernetes-validate==1.37.0)
if command -v helm >/dev/null; then
    helm=(helm)
else
    packages+=(helm-python-sdk==0.2.2)
    helm=("$built/bin/python" scripts/helm.py)
fi
if ! bash scripts/python-packages.sh chart 3.10 "${packages[@]}"; then
    if [ "${helm[0]}" != helm ]; then
        echo "THE CHART WAS NOT CHECKED: helm is not installed, and neither is ${packages[*]}" >&2
        exit 3
    fi
    echo "NOT CHECKED: that objects are valid by Kubernetes' schemas; ${packages[0]} is not installed" >&2
    skipped=3
fi

fail() {
    echo "$*" >&2
    exit 1
}

# render VALUES
render() {
    "${helm[@]}" template --namespace recrawl --values "$1" recrawl "$chart" 2>"$scratch/errors" ||
        { grep -v 'symbolic link' "$scratch/errors" >&2; return 1; }
}

# valid OBJECTS
valid() {
    "$built/bin/python" - "$1" <<'PYTHON'
import sys, yaml, kubernetes_validate
for document in filter(None, yaml.safe_load_all(open(sys.argv[1]))):
    # The Prometheus operator's kinds are no part of Kubernetes.
    if not document["apiVersion"].startswith("monitoring.coreos.com/"):
        kubernetes_validate.validate(document, "1.37", strict=True)
PYTHON
}

"${helm[@]}" lint --strict --values "$values" "$chart" || fail "helm lint --strict complains"

# Without the lines that differ between versions of Helm.
render "$values" | sed '/^# Source: /d; /^ *$/d' >"$scratch/rendered"
if [ "${1:-}" = --write ]; then
    sed '/^---$/,$d' "$plain" | cat - "$scratch/rendered" >"$scratch/plain"
    cp "$scratch/plain" "$plain"
fi
sed -n '/^---$/,$p' "$plain" | diff -u - "$scratch/rendered" ||
    fail "$plain is not what the chart renders; change the chart, then run 'make check-chart WRITE=1'"

# Values as `helm install` gets them, one case a line.
while IFS='|' read -r what text; do
    printf '%b' "$text" >"$scratch/values.yaml"
    render "$scratch/values.yaml" >"$scratch/objects.yaml" || fail "$what: refused"
    [ "$skipped" != 0 ] || valid "$scratch/objects.yaml" || fail "$what: not valid"
    echo "accepted: $what"
done <<'GOOD'
a contact alone|contact: you@example.org
what recrawl.yaml has|contact: you@example.org\nconsole: {tokensSecret: recrawl-tokens}
a digest of a private registry|contact: you@example.org\nimage: {repository: registry.example:5000/a/recrawl, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", pullPolicy: Always, pullSecrets: [{name: registry}]}
the Prometheus operator|contact: you@example.org\nmonitoring: {operator: true, namespace: observe, labels: {release: prometheus}}
chosen nodes|contact: you@example.org\nnodeSelector: {disk: ssd}\ntolerations: [{key: crawl, operator: Exists, effect: NoSchedule}]\naffinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}
seeds, configuration and secrets|contact: https://example.org/bot\nseeds: ["https://example.com/", "https://example.org/a?b=c#d"]\nconfig: |\n  [cycle]\n  period = "1 h"\nenv: [{name: HOOK, valueFrom: {secretKeyRef: {name: hook, key: secret}}}]
any pod may scrape|contact: you@example.org\nmonitoring: {podLabels: null}
other networks|contact: you@example.org\nmonitoring: {namespace: ""}\nconsole: {names: [crawl.example.org]}\nnetworkPolicy: {extraIngress: [{from: [{podSelector: {}}]}], extraEgress: [{to: [{ipBlock: {cidr: 10.1.0.0/16}}]}]}
storage and memory|contact: you@example.org\nstorage: {size: 1Ti, className: fast}\nresources: {limits: {memory: 8Gi}}
a fleet|contact: you@example.org\nfleet: {url: "s3://bucket/fleet", processes: 4}\nenv: [{name: AWS_REGION, value: eu-west-1}, {name: AWS_SECRET_ACCESS_KEY, valueFrom: {secretKeyRef: {name: store, key: secret}}}]
GOOD
while IFS='|' read -r what why text; do
    printf '%b' "$text" >"$scratch/values.yaml"
    ! render "$scratch/values.yaml" >"$scratch/objects.yaml" 2>"$scratch/why" || fail "$what: accepted"
    grep -q -- "$why" "$scratch/why" || fail "$what: refused for another reason: $(cat "$scratch/why")"
    echo "refused: $what"
done <<'BAD'
no contact|contact is empty|seeds: []
an empty contact|contact is empty|contact: ""
a contact that is a list|contact|contact: [you@example.org]
replicas|replicas|contact: you@example.org\nreplicas: 2
a misspelt value|sise|contact: you@example.org\nstorage: {sise: 1Gi}
a size without unit|size|contact: you@example.org\nstorage: {size: "200"}
a digest that is none|digest|contact: you@example.org\nimage: {digest: "sha256:0123"}
a pull policy that is none|pullPolicy|contact: you@example.org\nimage: {pullPolicy: Sometimes}
a seed without scheme|seeds|contact: you@example.org\nseeds: [example.com]
a seed with a line break|seeds|contact: you@example.org\nseeds: ["https://a.example/\\nhttps://b.example/"]
a structured configuration|config|contact: you@example.org\nconfig: {cycle: {period: "1 h"}}
a variable that the chart sets|env|contact: you@example.org\nenv: [{name: RECRAWL__SERVE__LISTEN, value: "127.0.0.1:1"}]
a host name with a quote|names|contact: you@example.org\nconsole: {names: ["a'b"]}
a switch that is a text|operator|contact: you@example.org\nmonitoring: {operator: "yes"}
a fleet in a folder|url|contact: you@example.org\nfleet: {url: "file:///data/fleet"}
a fleet without prefix|url|contact: you@example.org\nfleet: {url: "s3://bucket"}
a fleet of no process|processes|contact: you@example.org\nfleet: {url: "s3://bucket/fleet", processes: 0}
BAD
exit "$skipped"
