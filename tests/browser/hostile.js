// A site that tries to run a script in the operator's browser.

import http from "node:http";

/** Runs if the dashboard ever parses it as HTML. */
export const MARKUP = "<img src=x onerror=window.hostile=1>";
const ETAG = `"${MARKUP}"`;

/** Serves it on loopback; `url` is its seed. */
export async function hostile() {
  const path = `/${encodeURIComponent(MARKUP)}?q='%22${encodeURIComponent("<script>window.hostile=1</script>")}`;
  let given = 0;
  const server = http.createServer((request, response) => {
    if (request.url === "/robots.txt") {
      response.setHeader("Content-Type", "text/plain");
      response.end(`User-agent: *\nDisallow: /secret # ${MARKUP}\n# </pre><script>window.hostile=1</script>\n`);
      return;
    }
    response.setHeader("Content-Type", "text/html; charset=utf-8");
    response.setHeader("ETag", ETAG);
    given += 1;
    const text = MARKUP.replaceAll("<", "&lt;");
    response.end(
      `<!doctype html><title>${MARKUP}</title><h1>A page with some text of its own</h1><p>Given out ${given} times, ${text}</p><a href="${path.replaceAll('"', "%22")}">next</a><a href="/secret">no</a>`,
    );
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url: `${url}/`, origin: url, etag: ETAG, stop: () => server.close() };
}

/** A page that tries everything at once: to run scripts, to load, to connect, to navigate. `trap` is an origin. */
export const attack = (trap, visit) => `<!doctype html><html lang="en"><head><title>Attack ${visit}</title>
<meta http-equiv="refresh" content="1; url=${trap}/refresh">
<link rel="preconnect" href="${trap}"><link rel="dns-prefetch" href="${trap}"><link rel="stylesheet" href="${trap}/link.css">
<link rel="prefetch" href="${trap}/prefetch"><link rel="icon" href="${trap}/icon.ico"><base href="${trap}/" target="_top">
<style>@import url(${trap}/import.css); body { background: url(${trap}/background.png) }</style>
<script>window.hostile = 1; try { top.hostile = 1; } catch {} alert("script");</script>
<script src="${trap}/script.js"></script></head>
<body background="${trap}/body.png" onload="alert('load')"><h1>A page with words of its own</h1>
<p>Visit number ${visit} of a page that attacks whoever looks at it.</p>
<img src="x" onerror="alert('error')"><img src="${trap}/image.png" alt="A picture" srcset="${trap}/set.png 2x">
<svg onload="alert('svg')"><image href="${trap}/svg.png"/></svg><video src="${trap}/video" poster="${trap}/poster.png" autoplay></video>
<iframe src="${trap}/frame" srcdoc="<script>parent.parent.hostile = 1; alert('srcdoc')</script>"></iframe>
<object data="${trap}/object"></object><embed src="${trap}/embed">
<form action="${trap}/form" id="f"><input name="a" autofocus onfocus="alert('focus')"><button>Send</button></form>
<p><a href="${trap}/link" ping="${trap}/ping" target="_top">a link that leads away</a></p>
<p><a href="javascript:alert('link')">another link</a></p><div style="background: url(${trap}/style.png)">styled</div>
<noscript><p title="</noscript><img src=${trap}/noscript.png onerror=alert('noscript')>"></noscript>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert('math')&gt;"></math>
<p><a href="/picture">p</a> <a href="/notes">n</a> <a href="/wide">w</a> <a href="/gone">g</a> <a href="/huge">h</a></p></body></html>`;

/** A site of such pages, and a trap that counts who comes. Both on loopback; `seeds` are their URLs. */
export async function attacking() {
  const trapped = [];
  const trap = http.createServer((request, response) => {
    trapped.push(request.url);
    response.end();
  });
  trap.on("connection", () => trapped.push("connection"));
  const away = await listen(trap);
  let visit = 0;
  const wide = () => Buffer.from(`\ufeff<p>Wide words</p><script src="${away}/wide.js"></script>`, "utf16le");
  const pages = {
    "/attack": () => ["text/html", attack(away, (visit += 1))],
    "/picture": () => ["image/png", Buffer.from("\x89PNG\r\n\x1a\n<script>alert(1)</script>", "latin1")],
    "/notes": () => ["text/plain", "Plain notes & <script>alert('notes')</script>"],
    "/wide": () => ["text/html", wide()],
    "/gone": () => ["text/html", "<p>A page that will be taken down</p>"],
    "/huge": () => ["text/html", `<p>Beginning</p>${"<p>more words</p>".repeat(100_000)}<p>The end</p>`],
    "/robots.txt": () => ["text/plain", ""],
  };
  const site = http.createServer((request, response) => {
    const [type, body] = pages[request.url]?.() ?? ["text/html", "<p>unknown"];
    response.setHeader("Content-Type", type);
    response.end(body);
  });
  const origin = await listen(site);
  const seeds = Object.keys(pages).filter((path) => path !== "/robots.txt").map((path) => origin + path);
  return { origin, seeds, trapped, trap: away, stop: () => [trap, site].forEach((server) => server.close()) };
}

async function listen(server) {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${server.address().port}`;
}
