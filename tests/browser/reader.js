// The library of ReplayWeb.page over a WACZ file, on loopback.

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("node_modules/@webrecorder/wabac/dist/sw.js", import.meta.url));
/** Name of the collection in the replaying service worker. */
const COLLECTION = "archive";

/** Serves the service worker and the WACZ file, also parts of them, on loopback. */
async function serveFiles(wacz) {
  const files = { "/sw.js": [WORKER, "text/javascript"], "/archive.wacz": [wacz, "application/wacz"] };
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    if (!files[pathname]) {
      response.writeHead(pathname === "/" ? 200 : 404, { "Content-Type": "text/html" }).end("<title>Reader</title>");
      return;
    }
    const [path, type] = files[pathname];
    const { size } = await stat(path);
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    const start = Number(from ?? 0);
    const end = to ? Math.min(Number(to), size - 1) : size - 1;
    const headers = { "Content-Type": type, "Content-Length": end - start + 1, "Accept-Ranges": "bytes" };
    if (from !== undefined) headers["Content-Range"] = `bytes ${start}-${end}/${size}`;
    response.writeHead(from === undefined ? 200 : 206, headers);
    if (request.method === "HEAD") response.end();
    else createReadStream(path, { start, end }).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}

/** Starts the service worker and gives it the file. Runs in the browser. */
async function load([name, file]) {
  await navigator.serviceWorker.register("/sw.js");
  await navigator.serviceWorker.ready;
  while (!navigator.serviceWorker.controller) await new Promise((resolve) => setTimeout(resolve, 50));
  const added = new Promise((resolve, reject) => {
    navigator.serviceWorker.addEventListener("message", ({ data }) => {
      if (data.msg_type === "collAdded") resolve();
      if (data.msg_type === "collProgress" && data.error) reject(new Error(data.error));
    });
  });
  const source = new URL(file, location.href).href;
  navigator.serviceWorker.controller.postMessage({ msg_type: "addColl", name, file: { sourceUrl: source } });
  await added;
}

/** Fills the page with a frame. Runs in the browser. */
function frame(url) {
  const element = document.createElement("iframe");
  element.style = "position: fixed; inset: 0; width: 100%; height: 100%; border: 0";
  element.src = url;
  document.body.replaceChildren(element);
}

/** A reader of a WACZ file: `framed` opens an address in a frame, which replayed pages need. */
export async function reader(wacz, context) {
  const site = await serveFiles(wacz);
  const first = await context.newPage();
  await first.goto(site.origin);
  await first.evaluate(load, [COLLECTION, "/archive.wacz"]);
  await first.close();
  /** The status of an address in a frame of a page, which is then loaded. */
  const framed = async (page, url) => {
    await page.goto(site.origin);
    // The reader leads to the time of the capture.
    const place = url.split("mp_/").at(-1);
    const answered = page.waitForResponse((answer) => answer.url().endsWith(place) && answer.status() !== 302);
    await page.evaluate(frame, url);
    const status = (await answered).status();
    await page.waitForLoadState("networkidle");
    return status;
  };
  /** The address of a page as it was at a time, in seconds since 1970. */
  const at = (url, time) => `${site.origin}/w/${COLLECTION}/${stamp(time)}mp_/${url}`;
  return { ...site, framed, at };
}

/** A time, in seconds since 1970, as archives write it. */
export const stamp = (time) => new Date(time * 1000).toISOString().replace(/\D/g, "").slice(0, 14);
