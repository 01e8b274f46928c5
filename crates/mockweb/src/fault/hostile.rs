//! Pages whose scripts are against the browser that shows them, or against those that it could reach.

use super::{Action, Fault, FaultKind, page};

/// Scripts that keep, fill or annoy a browser.
pub const HOSTILE: FaultKind = FaultKind {
    name: "hostile",
    help: "a page whose script is against the browser; value: loop (never ends), promises (the same in small steps), \
           reload (for ever), windows, dialogs, download, workers, memory (takes all, keeps it), dom (a million elements), text \
           (a large document), requests (thousands), default loop",
    parse: |value| {
        let script = match value.unwrap_or("loop") {
            "loop" => "for (;;);",
            "promises" => "(function next() { Promise.resolve().then(next) })();",
            "reload" => "location.reload();",
            "windows" => "for (let i = 0; i < 99; i++) open('/window/' + i);",
            "dialogs" => "for (let i = 0; i < 9; i++) { alert(i); confirm(i); prompt(i); }",
            "download" => {
                "const a = document.createElement('a'); a.href = '/download.bin'; a.download = 'x'; a.click(); \
                 location = '/download.bin';"
            }
            "workers" => {
                "for (let i = 0; i < 9; i++) { new Worker('/worker.js?' + i); new SharedWorker('/shared.js?' + i); } \
                 navigator.serviceWorker?.register('/service.js').catch(() => 0);"
            }
            // It keeps what it has when it is refused more: the error of an allocation would end the script alone.
            "memory" => {
                "const all = []; for (;;) try { all.push(new Uint8Array(1 << 24).fill(1)); } catch {}"
            }
            "dom" => "for (let i = 0; i < 1e6; i++) document.body.append(document.createElement('p'));",
            "text" => "document.body.append('x'.repeat(3e7));",
            "requests" => "for (let i = 0; i < 2000; i++) fetch('/more/' + i).catch(() => 0);",
            other => return Err(format!("unknown script {other:?}")),
        };
        Ok(made(&format!("<script>{script}</script>")))
    },
};

/// Scripts that try every way to an address.
pub const REACH: FaultKind = FaultKind {
    name: "reach",
    help: "a page that tries every way a browser has to reach an address; value: HOST:PORT, default 127.0.0.1:9",
    parse: |value| {
        let to = value.unwrap_or("127.0.0.1:9");
        if !to.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte)) {
            return Err(format!("{to:?} is no HOST:PORT"));
        }
        Ok(made(&WAYS.replace("$TO", to)))
    },
};

/// A page that tries every way to `$TO`. Each request has a path of its own, so that a log tells which one arrived.
const WAYS: &str = "\
<link rel=dns-prefetch href=\"http://$TO/\"><link rel=preconnect href=\"http://$TO/\">
<link rel=prefetch href=\"http://$TO/prefetch\"><link rel=preload as=script href=\"http://$TO/preload\">
<link rel=stylesheet href=\"http://$TO/style\"><img src=\"http://$TO/image\"><video src=\"http://$TO/video\"></video>
<iframe src=\"http://$TO/frame\"></iframe><object data=\"http://$TO/object\"></object>
<script src=\"http://$TO/script\"></script><script type=module src=\"http://$TO/module\"></script>
<form id=form action=\"http://$TO/form\" method=post></form><a id=ping href=\"#here\" ping=\"http://$TO/ping\">a</a>
<iframe srcdoc=\"<script src='http://$TO/srcdoc'></script>\"></iframe>
<script>
const to = '$TO', tries = {
  fetch: () => fetch('http://' + to + '/fetch', { mode: 'no-cors' }).catch(() => 0),
  post: () => fetch('http://' + to + '/post', { method: 'POST', mode: 'no-cors' }).catch(() => 0),
  later: () => fetch('http://' + to + '/later', { keepalive: true, mode: 'no-cors' }).catch(() => 0),
  xhr: () => { const x = new XMLHttpRequest(); x.open('GET', 'http://' + to + '/xhr'); x.send(); },
  beacon: () => navigator.sendBeacon('http://' + to + '/beacon', 'x'),
  socket: () => new WebSocket('ws://' + to + '/socket'),
  events: () => new EventSource('http://' + to + '/events'),
  worker: () => new Worker(URL.createObjectURL(new Blob([
    `fetch('http://${to}/worker', {mode: 'no-cors'}).catch(() => 0); importScripts('http://${to}/import'); \
new WebSocket('ws://${to}/worker-socket')`]))),
  service: () => navigator.serviceWorker.register('/service.js').catch(() => 0),
  transport: () => new WebTransport('https://' + to + '/transport').ready.catch(() => 0),
  ice: () => { const c = new RTCPeerConnection({ iceServers: [{ urls: 'stun:' + to },
    { urls: 'turn:' + to + '?transport=tcp', username: 'u', credential: 'c' }] });
    c.createDataChannel('x'); c.createOffer().then(o => c.setLocalDescription(o)).catch(() => 0); },
  open: () => open('http://' + to + '/open'),
  ping: () => document.getElementById('ping').click(),
  file: () => fetch('file:///etc/passwd').catch(() => 0),
  font: () => new FontFace('x', 'url(http://' + to + '/font)').load().catch(() => 0),
  form: () => document.getElementById('form').submit(),
  go: () => { location = 'http://' + to + '/go'; },
};
for (const name in tries) try { tries[name](); } catch (e) { }
</script>";

/// A page with this in it, and one line of text.
fn made(inside: &str) -> Fault {
    let body = page("Hostile", inside).into_bytes();
    let fields = vec![("content-type", "text/html; charset=utf-8".to_owned())];
    Box::new(move |_| Action::Page { fields: fields.clone(), body: body.clone() })
}

#[cfg(test)]
mod tests {
    use super::super::{Action, FaultRule};

    #[test]
    fn scripts_are_in_the_page_and_unknown_ones_are_refused() {
        for rule in ["/=hostile", "/=hostile:memory", "/=reach:10.0.0.1:80", "/=reach:[::1]:80"] {
            let Some(Action::Page { body, .. }) = rule.parse::<FaultRule>().unwrap().strike(0, "/", 0) else {
                panic!()
            };
            let body = String::from_utf8(body).unwrap();
            assert!(body.contains("<script>") && !body.contains("$TO"), "{body}");
        }
        for wrong in ["/=hostile:kind", "/=reach:a'b"] {
            assert!(wrong.parse::<FaultRule>().is_err(), "{wrong}");
        }
    }
}
