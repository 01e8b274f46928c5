// A site of 60 pages whose look needs all that pages are made of: style sheets and what they import, fonts, images, frames,
// scripts. Nothing in it depends on time or chance.

import http from "node:http";
import { attack } from "./hostile.js";
import { crc32, font, png } from "./looks-files.js";

const svg = (hue, size = 60) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 60" width="${size}" height="${size}"><defs><linearGradient id="g"><stop stop-color="hsl(${hue} 70% 40%)"/><stop offset="1" stop-color="hsl(${hue + 90} 70% 60%)"/></linearGradient></defs><rect width="60" height="60" rx="9" fill="url(#g)"/><circle cx="30" cy="30" r="17" fill="none" stroke="white" stroke-width="5"/></svg>`;
const css = (hue) => `h1 { color: hsl(${hue} 80% 30%) } .box { background: hsl(${hue} 60% 85%); padding: 14px; margin: 8px 0 }`;
const words = "A page of words, so that lines break and a reader sees where each of them ends. ";
const paragraph = (n) => `<p>${words.repeat(2 + n)}</p>`;

/** Each kind makes a page of its number: content of its head, and of its body. `other` is another origin of the site. */
const KINDS = {
  sheets: (n) => [
    `<link rel="stylesheet" href="/css/${n * 40}.css"><link rel="alternate stylesheet" href="/css/999.css" title="Other"><style>main { display: grid; grid-template-columns: 1fr ${n + 1}fr; gap: 12px } .box:nth-child(2n) { border: 3px solid }</style>`,
    `<main>${'<div class="box">A box of the page</div>'.repeat(4 + n)}</main>${paragraph(n)}`,
  ],
  imports: (n) => [
    `<link rel="stylesheet" href="/chain/${n}/4.css"><style>@import url("/chain/${n}/2.css") layer(late); @import "/css/200.css" print; @import '/css/${n * 90}.css' supports(display: grid) screen; @import "/css/10.css" supports(nonsense: 1);</style>`,
    `<div class="box c4">four</div><div class="box c3">three</div><div class="box c2">two</div><div class="box c1">one</div>`,
  ],
  srcset: (n) => [
    "<style>img { display: block; margin: 6px }</style>",
    `<img src="/img/${n * 50}-90-60.png" srcset="/img/${n * 50 + 100}-180-120.png 2x, /img/${n * 50 + 20}-90-60.png 1x" alt="density">
     <img sizes="(min-width: 600px) 300px, 90px" srcset="/img/10-90-60.png 90w, /img/${n * 50 + 40}-300-150.png 300w, /img/200-900-400.png 900w" alt="width">
     <img srcset="/img/${n + 5}-100-50.png, /img/300-200-100.png 2x" alt="list alone">`,
  ],
  picture: (n) => [
    "<style>img { margin: 6px } .tall { height: 140px; object-fit: cover; width: 120px }</style>",
    `<picture><source media="(max-width: 400px)" srcset="/img/10-100-100.png"><source media="(min-width: 500px)" srcset="/img/${n * 70}-240-90.png"><img src="/img/20-50-50.png" alt="by width"></picture>
     <picture><source type="image/nothing" srcset="/img/33-100-100.png"><source type="image/svg+xml" srcset="/svg/${n * 60}.svg"><img src="/img/40-50-50.png" alt="by type"></picture>
     <img class="tall" src="/img/${n * 50 + 7}-300-100.png" alt="cut">${paragraph(n)}`,
  ],
  fonts: (n) => [
    `<link rel="preload" as="font" crossorigin href="/font/${n}.ttf"><style>@font-face { font-family: Blocks; src: local("No Such Font"), url("/font/none.woff2") format("woff3"), url("/font/${n}.ttf") format("truetype") } h2 { font: 40px Blocks } .icon::before { font: 24px Blocks; content: "\\41 \\42"; color: hsl(${n * 100} 80% 40%) }</style>`,
    `<h2>ABC CAB</h2><p><span class="icon"></span> an icon by a font</p>${paragraph(n)}`,
  ],
  icons: (n) => [
    `<link rel="icon" href="/svg/${n}.svg"><link rel="apple-touch-icon" href="/img/${n}-180-180.png"><style>.i { width: 40px; height: 40px; fill: hsl(${n * 120} 70% 40%) } .mask { display: inline-block; width: 50px; height: 50px; background: teal; mask: url(/svg/30.svg) center / contain; -webkit-mask: url(/svg/30.svg) center / contain }</style>`,
    `<p><svg class="i"><use href="/sprite.svg#star"/></svg> <svg class="i"><use xlink:href="/sprite.svg#bar"/></svg> icons of a sprite <span class="mask"></span></p><p><img src="/svg/${n * 30}.svg" width="32" alt="small"> <img src="/svg/${n * 30}.svg" width="90" alt="large"></p>`,
  ],
  frames: (n) => [
    `<link rel="stylesheet" href="/css/${n * 80}.css"><style>iframe { border: 2px solid gray; width: 45%; height: 130px }</style>`,
    `<iframe src="/inner/${n}"></iframe> <iframe srcdoc="<link rel=stylesheet href=/css/${n * 30}.css><h1>In the page</h1><img src='/img/77-40-40.png'>"></iframe>${n > 0 ? `<iframe src="OTHER/inner/${n}" loading="lazy"></iframe>` : ""}<div class="box">behind the frames</div>`,
  ],
  canvas: (n) => [
    "<style>canvas { border: 1px solid; display: block; margin: 6px }</style>",
    `<canvas id="a" width="400" height="160"></canvas><canvas id="b" width="120" height="80"></canvas><script src="/js/draw.js"></script><script>draw(document.getElementById("a"), ${n * 60}); const image = new Image(); image.onload = () => document.getElementById("b").getContext("2d").drawImage(image, 5, 5); image.src = "/img/${n * 33}-90-60.png";</script><noscript>No script, no picture</noscript>`,
  ],
  written: (n) => [
    `<script src="/js/head.js"></script>`,
    `<ul id="list"></ul><div id="late"></div><script>document.write("<p class=box>Written at once ${n}</p>"); for (let i = 0; i < ${n + 4}; i += 1) { const item = document.createElement("li"); item.textContent = "item " + i; document.getElementById("list").append(item); }</script><script defer src="/js/late.js"></script>`,
  ],
  fetched: (n) => [
    `<link rel="stylesheet" href="/css/${n * 20}.css">`,
    `<table id="rows" border="1"></table><script>fetch("/data/${n}.json").then((answer) => answer.json()).then((rows) => { for (const [name, value] of rows) document.getElementById("rows").insertRow().innerHTML = "<td>" + name + "<td>" + value + "<td><img src=/img/" + value + "-30-20.png>"; });</script>`,
  ],
  modules: (n) => [
    `<script type="module" src="/js/main-${n}.js"></script><script type="importmap">{"imports": {"shared": "/js/shared.js"}}</script>`,
    `<div class="box" id="out">before</div>${paragraph(n)}`,
  ],
  lazy: (n) => [
    "<style>img { display: block; margin: 4px; background: #eee }</style>",
    `<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" data-src="/img/${n * 60}-200-60.png" width="200" height="60" alt=""><img data-srcset="/img/${n * 20}-220-50.png 1x" width="220" height="50" alt=""><img loading="lazy" src="/img/${n * 10}-100-50.png" width="100" height="50" alt=""><script>for (const image of document.querySelectorAll("[data-src], [data-srcset]")) { if (image.dataset.src) image.src = image.dataset.src; if (image.dataset.srcset) image.srcset = image.dataset.srcset; }</script>`,
  ],
  drawings: (n) => [
    "<style>.thick { stroke-width: 7 } svg { background: #f4f4f4 }</style>",
    `${svg(n * 70, 120)}<svg width="200" height="120"><image href="/img/${n * 30}-80-60.png" x="5" y="5" width="80" height="60"/><path class="thick" d="M100 20 L180 100 L100 100 Z" fill="none" stroke="crimson"/><text x="10" y="110" font-size="18">A text in it</text></svg><img src="/svg/${n * 90}.svg" width="80" alt="as an image">`,
  ],
  grounds: (n) => [
    `<link rel="stylesheet" href="/grounds/${n}.css">`,
    `<ul><li>an image before it</li><li>and here</li></ul><div class="several">two of them</div><div class="set">a set</div><div class="edge">an edge</div><table background="/img/${n * 15}-20-20.png" width="300"><tr><td height="60">old</td></tr></table><div style="background: url(/img/120-16-16.png); height: 30px"></div>`,
  ],
  media: (n) => [
    `<link rel="stylesheet" media="print" href="/css/300.css"><link rel="stylesheet" media="(min-width: 400px)" href="/css/${n * 60 + 9}.css"><link rel="stylesheet" media="(min-width: 4000px)" href="/css/280.css"><style>@media print { body { display: none } } @media (prefers-color-scheme: light) { .box { outline: 3px dashed hsl(${n * 60} 50% 40%) } } @container (min-width: 300px) { .in { color: purple } } .cq { container-type: inline-size }</style>`,
    `<div class="box">by a screen</div><div class="cq"><p class="in">by its container</p></div>${paragraph(n)}`,
  ],
  forms: (n) => [
    `<style>input, select, textarea, button { margin: 4px; font: 15px sans-serif } button { background: hsl(${n * 90} 60% 40%); color: white; border: 0; padding: 8px } label { display: block } input:checked + span { color: green }</style>`,
    `<form><label>Name <input value="Ada"></label><label><input type="checkbox" checked><span>chosen</span></label><select><option>one<option selected>two</select><textarea rows="2">A text</textarea><fieldset><legend>A group</legend><input type="range" value="${20 * n}"><progress value="0.${n + 3}"></progress><meter value="0.6"></meter></fieldset><button>Send it</button><input type="image" src="/img/${n * 40}-60-24.png" alt="send"></form>`,
  ],
  old: (n) => [
    null,
    `<body bgcolor="#f0f8e8" text="#203040" link="#aa0000"><center><font size="5" color="#804000" face="serif">An old page</font><hr width="60%"><table border="1" cellpadding="6" cellspacing="3" bgcolor="white" width="70%"><tr bgcolor="#dde"><th align="left">name<th>value</tr><tr valign="top"><td rowspan="2">a<td align="right">${n}<tr><td><img src="/img/${n * 80}-60-30.png" align="middle" hspace="5" border="2"> right</table></center><dl><dt>term<dd>meaning</dl><tt>fixed</tt> <strike>gone</strike> <big>big</big><ul type="square"><li>point</ul></body>`,
  ],
  spelling: (n) => [
    `<base href="/deep/er/"><link rel="stylesheet" href="../../css/${n * 45}.css?v=1&amp;w=a%20b"><link rel="stylesheet" href="OTHER/css/${n * 45 + 5}.css">`,
    `<div class="box"><img src="bild%20gr&uuml;n-${n}.png" alt="umlaut"> <img src="OTHER/img/${n * 50}-60-40.png" alt="of another host"> <img src="/moved/${n}.png" alt="moved"> <img src="?size=${n}" alt="query alone"> <img src=" /img/${n * 25}-40-40.png " alt="blanks"></div>`,
  ],
  elements: (n) => [
    `<script type="module" src="/js/elements.js"></script><style>main:has(.inner) { border: 4px solid hsl(${n * 70} 60% 50%) } dialog { position: static; display: block }</style>`,
    `<main><div class="inner">chosen by what it has</div></main><div><template shadowrootmode="open"><style>p { color: crimson; background: url(/img/55-12-12.png) }</style><p>In a shadow</p><slot></slot></template><b>from outside</b></div><x-box hue="${n * 60}">a custom element</x-box><details open><summary>Open</summary>inside</details><ruby>字<rt>ji</rt></ruby><math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>`,
  ],
  players: (n) => [
    "<style>video, audio, object, embed { display: block; margin: 6px }</style>",
    `<video controls width="240" height="120" poster="/img/${n * 44}-240-120.png" preload="none"></video><audio controls preload="none"></audio><object data="/svg/${n * 66}.svg" type="image/svg+xml" width="80" height="80">none</object><embed src="/svg/${n * 33}.svg" type="image/svg+xml" width="70" height="70"><object data="/gone/x.swf" width="60" height="20">what stands for it</object>`,
  ],
};
/** Kinds whose last page is rendered in a browser. */
const SCRIPTED = ["canvas", "written", "fetched", "modules", "lazy", "elements"];

/** Paths of all pages. */
export const PAGES = Object.keys(KINDS).flatMap((kind) =>
  [0, 1, 2].map((n) => `/${n === 2 && SCRIPTED.includes(kind) ? "rendered/" : ""}${kind}/${n}`),
);

/** What a view with its look could do besides: frames, drawings, formulas and fields that act or ask. */
const HOSTILE = `<iframe src="/hostile"></iframe><iframe src="/inner/1"></iframe><iframe srcdoc="<script>alert('in a frame')</script><img src=OTHER/frame.png onerror=alert('frame')><iframe src='javascript:alert(1)'></iframe>"></iframe>
<svg width="90" height="20"><a href="OTHER/drawing"><text y="15">a drawn link</text></a><rect fill="url(OTHER/paint.svg#a)" onclick="alert('rect')"/><use href="OTHER/use.svg#a"/><animate attributeName="href" to="javascript:alert(1)"/><style>@import "OTHER/drawn.css"</style></svg>
<math href="OTHER/formula"><mtext>a formula<img src="OTHER/formula.png"></mtext></math>
<form action="OTHER/sent" method="post"><input value="a field" name="a"><button formaction="OTHER/button">a button</button><input type="submit" value="a submit"><input type="image" src="OTHER/input.png" alt="an image"></form>
<img srcset="OTHER/a.png 1x, OTHER/b.png 2x" sizes="auto"><video poster="OTHER/poster.png" src="OTHER/film"></video><object data="OTHER/object.svg" type="image/svg+xml"></object>
<div><template shadowrootmode="open"><style>:host { background: url(OTHER/host.png) }</style></template></div><style>a:link { cursor: url(OTHER/cursor.png), auto } p { background: image-set("OTHER/set.png" 1x) }</style>`;

function page(kind, n, other) {
  const [head, body] = KINDS[kind](n).map((text) => text?.replaceAll("OTHER", other));
  if (head === undefined) return `<html><head><title>${kind} ${n}</title></head>${body}</html>`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${kind} ${n}</title>${head}</head><body><h1>A page of ${kind}, ${n}</h1>${body}</body></html>`;
}

/** Files of the site besides its pages, by pattern of their paths: media type and body, or a status and a target. */
const FILES = [
  [/^\/img\/(\d+)-(\d+)-(\d+)\.png$/, (hue, width, height) => ["image/png", png(+hue, +width, +height)]],
  [/^\/deep\/er\/bild%20gr%C3%BCn-(\d)\.png$/, (n) => ["image/png", png(120, 50, 20 + 10 * n)]],
  [/^\/deep\/er\/\?size=(\d)$/, (n) => ["image/png", png(200, 30, 20 + 10 * n)]],
  [/^\/moved\/(\d)\.png$/, (n) => [302, `/img/${n * 70 + 3}-50-40.png`]],
  [/^\/svg\/(\d+)\.svg$/, (hue) => ["image/svg+xml", svg(+hue)]],
  [/^\/sprite\.svg$/, () => ["image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"><symbol id="star" viewBox="0 0 10 10"><path d="M5 0L6 4H10L7 6L8 10L5 7L2 10L3 6L0 4H4Z"/></symbol><symbol id="bar" viewBox="0 0 10 10"><rect y="3" width="10" height="4"/></symbol></svg>']],
  [/^\/css\/(\d+)\.css(\?.*)?$/, (hue) => ["text/css", css(hue)]],
  [/^\/chain\/(\d)\/(\d)\.css$/, (n, depth) => ["text/css", `${depth > 1 ? `@import "${depth - 1}.css";` : ""} .c${depth} { border-left: ${depth * 8}px solid hsl(${n * 90 + depth * 20} 60% 45%); background: url("../../img/${depth * 60}-10-10.png") }`]],
  [/^\/grounds\/(\d)\.css$/, (n) => ["text/css; charset=utf-8", `body { background: url(/img/${n * 60}-200-4.png) repeat-y right } li { list-style-image: url("/img/9-10-10.png") } .several { height: 60px; background: url(/img/100-30-30.png) no-repeat 10px 10px, url(/svg/${n * 20}.svg) no-repeat 60px 0 } .set { height: 50px; background: image-set("/img/${n * 35}-50-50.png" 1x, url(/img/200-100-100.png) 2x) } .edge { border: 12px solid; border-image: url(/img/${n * 70}-36-36.png) 12 round } .set::after { content: url(/img/44-20-20.png) }`]],
  [/^\/font\/(\d)\.ttf$/, (n) => ["font/ttf", font(+n)]],
  [/^\/inner\/(\d)$/, (n) => ["text/html", `<!doctype html><title>inner</title><link rel="stylesheet" href="/css/${n * 50}.css"><h1>In a frame</h1><img src="/img/${n * 50}-70-30.png"><script>document.body.append("and by a script")</script>`]],
  [/^\/js\/draw\.js$/, () => ["text/javascript", 'function draw(canvas, hue) { const c = canvas.getContext("2d"); for (let i = 0; i < 12; i += 1) { c.fillStyle = `hsl(${hue + i * 15} 70% 50%)`; c.fillRect(i * 32, 150 - i * 11, 28, i * 11 + 6); } c.font = "20px sans-serif"; c.fillStyle = "black"; c.fillText("Drawn by a script", 12, 28); }']],
  [/^\/js\/head\.js$/, () => ["text/javascript", 'const sheet = document.createElement("link"); sheet.rel = "stylesheet"; sheet.href = "/css/" + 6 * 20 + ".css"; document.head.append(sheet);']],
  [/^\/js\/late\.js$/, () => ["text/javascript", 'document.getElementById("late").innerHTML = `<p class="box">Late, with <img src="/img/${[1, 9, 0].join("")}-40-20.png"></p>`;']],
  [/^\/js\/main-(\d)\.js$/, (n) => ["text/javascript", `import { fill } from "./part.js"; import "shared"; const { colour } = await import("./colours/${n}.js"); fill("By modules ${n}", colour);`]],
  [/^\/js\/part\.js$/, () => ["text/javascript", 'export { fill } from "./leaf.js";']],
  [/^\/js\/leaf\.js$/, () => ["text/javascript", 'export function fill(text, colour) { const out = document.getElementById("out"); out.textContent = text; out.style.background = colour; }']],
  [/^\/js\/shared\.js$/, () => ["text/javascript", 'document.body.style.borderTop = "5px solid teal";']],
  [/^\/js\/colours\/(\d)\.js$/, (n) => ["text/javascript", `export const colour = "hsl(${n * 80} 70% 80%)";`]],
  [/^\/js\/elements\.js$/, () => ["text/javascript", 'customElements.define("x-box", class extends HTMLElement { connectedCallback() { const sheet = new CSSStyleSheet(); sheet.replaceSync("p { border: 3px double; padding: 6px }"); const root = this.attachShadow({ mode: "open" }); root.adoptedStyleSheets = [sheet]; root.innerHTML = `<p style="background: hsl(${this.getAttribute("hue")} 50% 85%)"><slot></slot></p>`; } });']],
  [/^\/data\/(\d)\.json$/, (n) => ["application/json", JSON.stringify([...Array(+n + 3).keys()].map((row) => [`row ${row}`, row * 40 + 10]))]],
  [/^\/hostile$/, (other) => ["text/html", HOSTILE.replaceAll("OTHER", other) + attack(other, 1)]],
  [/^\/$/, () => ["text/html", `<title>Pages</title><h1>Pages</h1><ul>${[...PAGES, "/hostile"].map((path) => `<li><a href="${path}">${path}</a>`).join("")}</ul>`]],
];

function answer(path, other) {
  const [, kind, n] = PAGES.includes(path) ? /([a-z]+)\/(\d)$/.exec(path) : [];
  if (kind) return ["text/html; charset=utf-8", page(kind, Number(n), other)];
  for (const [pattern, make] of FILES) {
    const found = pattern.exec(path);
    if (found) return make(...found.slice(1), other);
  }
  return [404, undefined];
}

/** Serves it at two origins on loopback. `asked` are the requests: `GET /path` behind the host. */
export async function pictured() {
  const asked = [];
  const servers = [];
  for (const _ of [0, 1]) {
    const server = http.createServer((request, response) => {
      const origins = servers.map((one) => `http://127.0.0.1:${one.address().port}`);
      asked.push(`http://${request.headers.host}${request.url}`);
      const [kind, body] = answer(request.url, origins[1]);
      response.setHeader("Access-Control-Allow-Origin", "*");
      if (Number.isInteger(kind)) {
        response.writeHead(kind, body === undefined ? {} : { Location: body }).end();
        return;
      }
      const tag = `"${crc32(Buffer.from(body)).toString(16)}"`;
      const isSame = request.headers["if-none-match"] === tag;
      response.writeHead(isSame ? 304 : 200, { "Content-Type": kind, ETag: tag });
      response.end(isSame ? undefined : body);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    servers.push(server);
  }
  const [origin, other] = servers.map((server) => `http://127.0.0.1:${server.address().port}`);
  const stop = () => servers.forEach((server) => (server.closeAllConnections(), server.close()));
  return { origin, other, asked, stop };
}
