//! How many pages a browser renders, in which memory: `render_speed PAGES TABS`. The pages load a script and data, from
//! memory. Prints pages a second, a second of processor, and the largest memory (PSS) of all processes of the browser.

use recrawl_renderer::{
    AnswerFuture, Ask, RenderOptions, Renderer, Resource, ResourceAnswer, ResourceKind, ResourceSource,
    ServedPage, WaitingRequest,
};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const SHELL: &str = "<!DOCTYPE html><title>t</title><div id=app></div><script src=/app.js></script>";
const SCRIPT: &str = "setTimeout(async () => { const page = await (await fetch('/data')).json(); \
                      app.innerHTML = page.map(p => `<p>${p} <a href=\"/${p}\">${p}</a></p>`).join(''); }, 500)";

/// A script, and a list of two hundred words.
struct SamplePages;

impl ResourceSource for SamplePages {
    fn get<'a>(&'a self, ask: &'a Ask, _waiting: WaitingRequest) -> AnswerFuture<'a> {
        let words: Vec<String> = (0..200).map(|n| format!("\"word{n}\"")).collect();
        let body = match ask.kind {
            ResourceKind::Script => SCRIPT.to_owned(),
            ResourceKind::Data | ResourceKind::Preflight => format!("[{}]", words.join(",")),
        };
        let resource = Resource { status: 200, headers: Vec::new(), body: body.into() };
        Box::pin(std::future::ready(ResourceAnswer::Response(Arc::new(resource))))
    }
}

/// Seconds of processor of a process and the children that it waited for.
fn processor(pid: &str) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks: u64 = fields[11..15].iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // Ticks are hundredths of a second on Linux.
    Some(ticks as f64 / 100.0)
}

/// The same of this process and all that stem from it and live.
fn all_processors(of: u32) -> f64 {
    let pids = fs::read_dir("/proc").expect("/proc").flatten();
    let pids: Vec<String> = pids.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let parent = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let children: Vec<u32> =
        pids.iter().filter(|pid| parent(pid) == Some(of)).filter_map(|pid| pid.parse().ok()).collect();
    processor(&of.to_string()).unwrap_or_default() + children.into_iter().map(all_processors).sum::<f64>()
}

#[tokio::main]
async fn main() {
    let mut arguments =
        std::env::args().skip(1).map(|text| text.parse::<usize>().expect("render_speed PAGES TABS"));
    let (pages, tabs) = (arguments.next().unwrap_or(200), arguments.next().unwrap_or(4));
    let options = RenderOptions {
        tabs,
        time: Duration::from_secs(60),
        restart_after: u64::MAX,
        ..RenderOptions::default()
    };
    let renderer = Arc::new(Renderer::new(options).expect("a browser is installed"));
    renderer.start().await.expect("it starts");
    let largest = Arc::new(AtomicU64::new(0));
    let (watched, seen) = (renderer.clone(), largest.clone());
    let watch = tokio::spawn(async move {
        loop {
            seen.fetch_max(watched.memory().await, Relaxed);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let (start, before) = (Instant::now(), all_processors(std::process::id()));
    let render = |n: usize| {
        let renderer = renderer.clone();
        tokio::spawn(async move {
            let headers = vec![("content-type".to_owned(), "text/html; charset=utf-8".to_owned())];
            let page =
                ServedPage { url: format!("http://a.test/{n}"), status: 200, headers, body: SHELL.into() };
            renderer
                .render(&page, &SamplePages)
                .await
                .is_ok_and(|rendered| rendered.html.contains("/word199"))
        })
    };
    let mut whole = 0;
    for page in (0..pages).map(render).collect::<Vec<_>>() {
        whole += usize::from(page.await.expect("no panic"));
    }
    watch.abort();
    let (seconds, taken) = (start.elapsed().as_secs_f64(), all_processors(std::process::id()) - before);
    println!(
        "{whole} of {pages} pages with {tabs} tabs in {seconds:.1} s: {:.2} a second, {:.2} a second of processor \
         ({taken:.1} s); memory at most {} MB",
        whole as f64 / seconds,
        whole as f64 / taken,
        largest.load(Relaxed) / 1_000_000
    );
}
