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
