//! The Python client: a class with a method for each operation of the API, and a type for each schema.

use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The part of the module that no schema changes.
const HEAD: &str = include_str!("client.py");
/// Operations of the API that are for browsers and for other processes of recrawl.
const LEFT_OUT: [&str; 4] = ["events", "session", "begin", "step_aside"];

/// The module, from an OpenAPI document.
pub fn module(document: &Value) -> String {
    let mut client = PythonClient { document, named: BTreeSet::new() };
    let paths = document["paths"].as_object().expect("paths");
    let mut methods = String::new();
    for (path, operations) in paths.iter().filter(|(path, _)| path.starts_with("/api/v1/")) {
        for (verb, operation) in operations.as_object().expect("operations") {
            if operation["operationId"].as_str().is_some_and(|id| !LEFT_OUT.contains(&id)) {
                client.method(&mut methods, path, verb, operation);
            }
        }
    }
    let types = client.types();
    HEAD.replace("# TYPES\n", &types).replace("    # METHODS\n", methods.trim_start_matches('\n'))
}

struct PythonClient<'d> {
    document: &'d Value,
    /// Schemas that were named so far.
    named: BTreeSet<String>,
}

/// An argument of a method.
struct Argument {
    name: String,
    kind: String,
    is_required: bool,
}

impl Argument {
    fn declared(&self) -> String {
        let Argument { name, kind, is_required } = self;
        if *is_required { format!("{name}: {kind}") } else { format!("{name}: Optional[{kind}] = None") }
    }
}

impl<'d> PythonClient<'d> {
    fn schema(&self, name: &str) -> &'d Value {
        &self.document["components"]["schemas"][name]
    }

    fn method(&mut self, out: &mut String, path: &str, verb: &str, operation: &'d Value) {
        let id = operation["operationId"].as_str().expect("an id");
        let none = Vec::new();
        let asked = operation["parameters"].as_array().unwrap_or(&none);
        let mut arguments: Vec<Argument> = Vec::new();
        let mut place = format!("{path:?}");
        let mut query = Vec::new();
        for asked in asked {
            let name = asked["name"].as_str().expect("a name").to_owned();
            match asked["in"] == "path" {
                true => place = place.replace(&format!("{{{name}}}"), &format!("\" + _part({name}) + \"")),
                false => query.push(format!("\"{name}\": {name}")),
            }
            let is_required = asked["required"] == true;
            arguments.push(Argument { kind: self.kind(&asked["schema"]), name, is_required });
        }
        let sent = &operation["requestBody"]["content"]["application/json"]["schema"];
        let mut body = Vec::new();
        if let Some(name) = sent["$ref"].as_str().map(name_of) {
            let sent = self.schema(name);
            for (name, schema) in sent["properties"].as_object().expect("fields") {
                body.push(format!("\"{name}\": {name}"));
                let is_required = requires(sent, name);
                arguments.push(Argument { name: name.clone(), kind: self.kind(schema), is_required });
            }
        }
        let answers = ["200", "202"]
            .map(|status| &operation["responses"][status]["content"]["application/json"]["schema"]);
        let kinds: BTreeSet<String> =
            answers.iter().filter(|answer| !answer.is_null()).map(|answer| self.kind(answer)).collect();
        let kind = match kinds.into_iter().collect::<Vec<_>>() {
            kinds if kinds.len() == 1 => kinds[0].clone(),
            kinds => format!("Union[{}]", kinds.join(", ")),
        };
        let declared = declared(&arguments);
        let words = ["summary", "description"].map(|key| operation[key].as_str().unwrap_or_default());
        let words = words.join("\n\n").trim().replace('\n', "\n        ").replace("\n        \n", "\n\n");
        let place = place.trim_end_matches(" + \"\"");
        let verb = verb.to_uppercase();
        write!(
            out,
            "\n    def {id}(self{declared}) -> {kind}:\n        \"\"\"{words}\"\"\"\n        \
             return self._ask(\"{verb}\", {place}, {{{}}}, {})\n",
            query.join(", "),
            if sent.is_null() { "None".to_owned() } else { format!("{{{}}}", body.join(", ")) }
        )
        .expect("text takes all");
        if arguments.iter().any(|argument| argument.name == "cursor") {
            self.pager(out, id, answers[0], arguments);
        }
    }

    /// A method that goes through a list, one part after the other.
    fn pager(&mut self, out: &mut String, id: &str, answer: &'d Value, arguments: Vec<Argument>) {
        let list = self.schema(name_of(answer["$ref"].as_str().expect("a list")));
        let fields = list["properties"].as_object().expect("fields");
        let entries =
            fields.iter().find(|(_, schema)| schema["type"] == "array").expect("a list has entries");
        let kind = self.kind(&entries.1["items"]);
        let rest: Vec<Argument> =
            arguments.into_iter().filter(|argument| argument.name != "cursor").collect();
        let passed: Vec<String> = rest.iter().map(|Argument { name, .. }| format!("{name}={name}")).collect();
        write!(
            out,
            "\n    def all_{id}(self{}) -> Iterator[{kind}]:\n        \"\"\"All entries of `{id}`; `limit` is that of one request.\"\"\"\n        \
             return self._all(self.{id}, \"{}\", {})\n",
            declared(&rest),
            entries.0,
            format_args!("dict({})", passed.join(", "))
        )
        .expect("text takes all");
    }

    /// The Python type of a schema.
    fn kind(&mut self, schema: &Value) -> String {
        if let Some(name) = schema["$ref"].as_str().map(name_of) {
            self.named.insert(name.to_owned());
            return format!("\"{name}\"");
        }
        if let Some(values) = schema["enum"].as_array() {
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            return format!("Literal[{}]", values.join(", "));
        }
        let mut kinds: Vec<String> = match (schema["oneOf"].as_array(), &schema["type"]) {
            (Some(some), _) => some.iter().map(|schema| self.kind(schema)).collect(),
            (None, Value::Array(names)) => names.iter().map(|name| self.simple(name, schema)).collect(),
            (None, name) => vec![self.simple(name, schema)],
        };
        let is_optional = kinds.iter().any(|kind| kind == "None");
        kinds.retain(|kind| kind != "None");
        kinds.dedup();
        let kind = match &kinds[..] {
            [] => return "None".into(),
            [kind] => kind.clone(),
            kinds => format!("Union[{}]", kinds.join(", ")),
        };
        if is_optional { format!("Optional[{kind}]") } else { kind }
    }

    fn simple(&mut self, name: &Value, schema: &Value) -> String {
        match name.as_str() {
            Some("string") => "str".into(),
            Some("integer") => "int".into(),
            Some("number") => "float".into(),
            Some("boolean") => "bool".into(),
            Some("null") => "None".into(),
            Some("array") => format!("List[{}]", self.kind(&schema["items"])),
            Some("object") if schema["additionalProperties"].is_object() => {
                format!("Dict[str, {}]", self.kind(&schema["additionalProperties"]))
            }
            _ => "Dict[str, Any]".into(),
        }
    }

    /// The types of all schemas that methods name, and of those that these name.
    fn types(&mut self) -> String {
        let (mut done, mut classes, mut aliases) = (BTreeSet::new(), String::new(), String::new());
        while let Some(name) = self.named.difference(&done).next().cloned() {
            done.insert(name.clone());
            let schema = self.schema(&name);
            let mut fields = Map::new();
            let is_whole = self.fields(schema, &mut fields);
            let text = if fields.is_empty() {
                format!("{name} = {}\n", self.kind(schema))
            } else {
                let total = if is_whole { "" } else { ", total=False" };
                let words = schema["description"].as_str().unwrap_or_default().replace('\n', "\n    ");
                let mut class = format!("\n\nclass {name}(TypedDict{total}):\n    \"\"\"{words}\"\"\"\n\n");
                for (field, schema) in &fields {
                    writeln!(class, "    {field}: {}", self.kind(schema)).expect("text takes all");
                }
                class
            };
            if fields.is_empty() { &mut aliases } else { &mut classes }.push_str(&text);
        }
        format!("{}\n\n{aliases}", classes.trim_start())
    }

    /// The fields of an object or of several that are one; are all always there?
    fn fields(&self, schema: &'d Value, out: &mut Map<String, Value>) -> bool {
        let mut is_whole = true;
        if let Some(name) = schema["$ref"].as_str() {
            return self.fields(self.schema(name_of(name)), out);
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            is_whole &= self.fields(part, out);
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            is_whole &= requires(schema, name);
            out.insert(name.clone(), field.clone());
        }
        is_whole
    }
}

fn name_of(reference: &str) -> &str {
    reference.trim_start_matches("#/components/schemas/")
}

fn requires(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
}

/// The arguments behind `self`: those that are required, then the others by name.
fn declared(arguments: &[Argument]) -> String {
    let (required, others): (Vec<&Argument>, Vec<&Argument>) =
        arguments.iter().partition(|argument| argument.is_required);
    let star = (!others.is_empty()).then(|| "*".to_owned());
    let all = required.iter().map(|argument| argument.declared()).chain(star);
    all.chain(others.iter().map(|argument| argument.declared())).map(|text| format!(", {text}")).collect()
}
