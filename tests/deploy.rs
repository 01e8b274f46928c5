//! What deploy/ holds fits the program: files parse, configurations are accepted, commands, paths and ports exist.

use crate::docs::Helps;
use crate::harness::{program, succeeds, workspace_file};
use saphyr::{LoadableYamlNode, Yaml};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `systemd-analyze security` may find at most, in tenths: 0 is a service that can do nothing, 100 one that can do all.
const EXPOSURE: &str = "20";

#[test]
fn every_configuration_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    fs::write(&tokens, "").unwrap();
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
    let mut checked = 0;
    let of_their_own = files(".toml").into_iter().map(|f| (f.clone(), fs::read_to_string(f).unwrap()));
    let within_others = files(".yaml").into_iter().flat_map(|f| {
        let named = scalars(&f).into_iter().filter(|(key, _)| key.ends_with(".toml"));
        named.map(move |(_, text)| (f.clone(), text)).collect::<Vec<_>>()
    });
    for (from, text) in of_their_own.chain(within_others) {
        let file = folder.path().join("c.toml");
        // Where it is deployed, a file of tokens is there.
        let here = |text: &str| text.replace("/run/recrawl/tokens", tokens.to_str().unwrap());
        fs::write(&file, here(&text)).unwrap();
        let variables = variables(&from).into_iter().map(|(name, value)| (name, here(&value)));
        let output =
            program().args(["config", "check", "--config"]).arg(&file).envs(variables).output().unwrap();
        assert!(output.status.success(), "{}: {}", from.display(), String::from_utf8_lossy(&output.stderr));
        checked += 1;
    }
    assert_eq!(checked, 3, "the service's, the container's, that of Kubernetes");
    assert_eq!(variables(&workspace_file("deploy/kubernetes/recrawl.yaml")).len(), 4, "keys that it sets");
}

#[test]
fn every_command_exists() {
    let mut commands = Vec::new();
    for file in files("") {
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<String> = match file.extension().and_then(|e| e.to_str()) {
            Some("service") => text
                .lines()
                .filter_map(|l| l.split_once("=/usr/local/bin/"))
                .map(|(_, c)| c.to_owned())
                .collect(),
            Some("yaml") => lists(&file),
            _ if file.ends_with("Dockerfile") => {
                let words = text.lines().filter_map(|l| l.strip_prefix("CMD "));
                words
                    .map(|w| format!("recrawl {}", serde_json::from_str::<Vec<String>>(w).unwrap().join(" ")))
                    .collect()
            }
            _ => Vec::new(),
        };
        commands.extend(lines.into_iter().map(|l| (file.clone(), l)));
    }
    let mut helps = Helps::default();
    for (file, command) in &commands {
        helps.check(command).unwrap_or_else(|why| panic!("{}: {command}: {why}", file.display()));
    }
    assert_eq!(commands.len(), 7, "{commands:?}");
}

#[test]
fn every_file_is_yaml_and_what_it_mounts_is_there() {
    let all = [files(".yaml"), files(".yml")].concat();
    assert!(all.len() >= 6, "{all:?}");
    for file in &all {
        assert!(!documents(file, |all| all.len()).eq(&0), "{}: is empty", file.display());
    }
    let compose = workspace_file("deploy/compose.yaml");
    let mounted: Vec<String> = texts(&compose).into_iter().filter(|t| t.starts_with("./")).collect();
    assert!(mounted.len() >= 3, "{mounted:?}");
    for path in mounted.iter().filter(|p| *p != "./my.toml") {
        let host = path.split(':').next().unwrap();
        assert!(
            workspace_file("deploy").join(host).exists(),
            "compose.yaml mounts {host}, which is not there"
        );
    }
}

/// Three processes of one fleet, each with a name, a volume and a port of its own, once the store has its bucket.
#[test]
fn processes_of_the_composed_fleet_share_a_store_and_nothing_else() {
    let compose = workspace_file("deploy/compose-fleet.yaml");
    let commands = lists(&compose);
    let options = |name: &str| {
        let one = |words: &String| {
            words.split_once(&format!(" {name} ")).unwrap().1.split(' ').next().unwrap().to_owned()
        };
        commands.iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(options("--name"), ["a", "b", "c"]);
    assert_eq!(options("--fleet"), ["s3://recrawl/fleet"; 3]);
    assert_eq!(options("--data-dir"), ["/data"; 3]);
    let all = texts(&compose);
    let with =
        |ends: &str| all.iter().filter(|text| text.ends_with(ends)).map(String::as_str).collect::<Vec<_>>();
    assert_eq!(with(":/data"), ["a:/data", "b:/data", "c:/data", "store:/data"]);
    assert_eq!(with(":8420"), ["127.0.0.1:8420:8420", "127.0.0.1:8421:8420", "127.0.0.1:8422:8420"]);
    documents(&compose, |documents| {
        let store = &documents[0]["x-node"]["environment"]["AWS_ENDPOINT_URL"];
        assert_eq!(store.as_str(), Some("http://store:8333"));
        let bucket = &documents[0]["x-node"]["depends_on"]["bucket"]["condition"];
        assert_eq!(bucket.as_str(), Some("service_completed_successfully"));
        let Yaml::Mapping(volumes) = &documents[0]["volumes"] else { panic!("it has volumes") };
        assert_eq!(volumes.len(), 4, "no two processes share a disk");
    });
    // What its first lines say to type.
    let text = fs::read_to_string(&compose).unwrap();
    let typed =
        text.lines().find_map(|line| line.split_once(" run --rm a ")).expect("it says how to begin").1;
    Helps::default().check(&format!("recrawl {typed}")).unwrap();
}

#[test]
fn probes_ask_for_routes_that_the_console_has() {
    let routes = fs::read_to_string(workspace_file("crates/console/src/api/health.rs")).unwrap();
    let paths: Vec<String> = scalars(&workspace_file("deploy/kubernetes/recrawl.yaml"))
        .into_iter()
        .filter(|(key, value)| key == "path" && value.starts_with('/'))
        .map(|(_, value)| value)
        .collect();
    assert_eq!(paths.len(), 3, "startup, liveness, readiness");
    for path in paths {
        assert!(routes.contains(&format!("get, path = \"{path}\"")), "the console has no {path}");
    }
}

#[test]
fn an_image_runs_as_nobody_in_particular_and_is_of_this_version() {
    let dockerfile = fs::read_to_string(workspace_file("deploy/Dockerfile")).unwrap();
    let user = dockerfile.lines().find_map(|l| l.strip_prefix("USER ")).expect("a user");
    assert!(user.parse::<u32>().is_ok_and(|id| id > 0), "USER {user}: Kubernetes checks numbers alone");
    assert_eq!(dockerfile.matches("\nFROM ").count(), 2, "what compiles is not what runs");
    let kubernetes = scalars(&workspace_file("deploy/kubernetes/recrawl.yaml"));
    let of = |name: &str| {
        kubernetes.iter().filter(|(key, _)| key == name).map(|(_, v)| v.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of("runAsUser"), [user]);
    assert_eq!(of("runAsNonRoot"), ["true"]);
    let image = format!("recrawl:{}", env!("CARGO_PKG_VERSION"));
    assert!(of("image").iter().all(|i| *i == image), "images are not {image}");
}

/// Where systemd is, it judges the unit itself.
#[test]
fn systemd_takes_the_unit() {
    let unit = fs::read_to_string(workspace_file("deploy/recrawl.service")).unwrap();
    for line in ["Type=notify", "NoNewPrivileges=yes", "ProtectSystem=strict", "User=recrawl"] {
        assert!(unit.lines().any(|l| l == line), "the unit has no {line}");
    }
    let users = fs::read_to_string(workspace_file("deploy/recrawl.sysusers")).unwrap();
    assert!(users.lines().any(|l| l.starts_with("u recrawl ")), "nobody makes its user");
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recrawl.service");
    fs::write(&file, unit.replace("/usr/local/bin/recrawl", env!("CARGO_BIN_EXE_recrawl"))).unwrap();
    let verify = Command::new("systemd-analyze").arg("verify").arg(&file).output().unwrap();
    let complaints = String::from_utf8_lossy(&verify.stderr).into_owned();
    assert!(verify.status.success() && !complaints.contains("recrawl.service"), "{complaints}");
    let judged = Command::new("systemd-analyze")
        .args(["security", "--no-pager", "--offline=true", "--threshold", EXPOSURE])
        .arg(&file)
        .output()
        .unwrap();
    succeeds(judged);
}

/// Files under deploy/ whose names end so, in order. Helm's templates are no YAML before they are rendered.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![workspace_file("deploy")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("templates") {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Keys of the configuration that a file of YAML sets in the environment.
fn variables(file: &Path) -> Vec<(String, String)> {
    if file.extension().is_none_or(|e| e != "yaml") {
        return Vec::new();
    }
    let all = scalars(file);
    let pairs = all.windows(2).filter(|pair| pair[0].0 == "name" && pair[1].0 == "value");
    let pairs = pairs.map(|pair| (pair[0].1.clone(), pair[1].1.clone()));
    pairs.filter(|(name, _)| name.starts_with("RECRAWL__")).collect()
}

/// What `look` sees in the documents of a file.
fn documents<T>(file: &Path, look: impl Fn(&[Yaml]) -> T) -> T {
    let text = fs::read_to_string(file).unwrap();
    look(&Yaml::load_from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display())))
}

/// Values that are no mapping and no list, each with its key.
fn scalars(file: &Path) -> Vec<(String, String)> {
    fn walk(node: &Yaml, key: &str, out: &mut Vec<(String, String)>) {
        match node {
            Yaml::Mapping(entries) => {
                entries.iter().for_each(|(k, v)| walk(v, k.as_str().unwrap_or_default(), out));
            }
            Yaml::Sequence(items) => items.iter().for_each(|i| walk(i, key, out)),
            other => out.extend(text(other).map(|t| (key.to_owned(), t))),
        }
    }
    documents(file, |all| {
        let mut out = Vec::new();
        all.iter().for_each(|d| walk(d, "", &mut out));
        out
    })
}

fn text(node: &Yaml) -> Option<String> {
    let number = || node.as_integer().map(|n| n.to_string());
    node.as_str().map(str::to_owned).or_else(number).or_else(|| node.as_bool().map(|b| b.to_string()))
}

fn texts(file: &Path) -> Vec<String> {
    scalars(file).into_iter().map(|(_, text)| text).collect()
}

/// Lists that are words for the program: their first is one of its commands.
fn lists(file: &Path) -> Vec<String> {
    fn walk(node: &Yaml, key: &str, out: &mut Vec<String>) {
        match node {
            Yaml::Mapping(entries) => {
                entries.iter().for_each(|(k, v)| walk(v, k.as_str().unwrap_or_default(), out));
            }
            Yaml::Sequence(items) => {
                let words: Vec<String> = items.iter().filter_map(text).collect();
                let is_ours = words.iter().any(|w| w == "--config");
                if ["command", "args"].contains(&key) && is_ours {
                    out.push(format!("recrawl {}", words.join(" ")));
                }
                items.iter().for_each(|i| walk(i, "", out));
            }
            _ => {}
        }
    }
    documents(file, |all| {
        let mut out = Vec::new();
        all.iter().for_each(|d| walk(d, "", &mut out));
        out
    })
}
