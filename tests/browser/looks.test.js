// Copies of pages that need style sheets, fonts, images, frames and scripts look as the pages do.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { PAGES } from "./looks-site.js";
import { LETTERS, looks } from "./looks-views.js";

/** One page of each kind; those that a script fills are rendered. */
const SOME = PAGES.filter((path) => path.endsWith("/2"));
/** The library makes frames of objects. */
const NOT_IN_LIBRARY = ["/players/2"];
/** Kinds of pages that need no script where they are seen, and the share of pixels in which gradients and curves differ. */
const STILL = ["/sheets/2", "/imports/2", "/srcset/2", "/picture/2", "/fonts/2", "/icons/2", "/rendered/written/2", "/rendered/fetched/2", "/rendered/modules/2", "/rendered/lazy/2", "/grounds/2", "/media/2", "/forms/2", "/old/2", "/spelling/2"];
/** The share of pixels that differ in the others: texts that scripts of frames write, curves of drawings, the look of custom
 *  elements, and the place of an image that is embedded. */
const OTHERS = { "/frames/2": 0.002, "/drawings/2": 0.004, "/players/2": 0.03, "/rendered/elements/2": 0.07, "/rendered/canvas/2": 0.07 };
/** Milliseconds in which an attack would have come through. The page's refresh takes a second. */
const LONG_ENOUGH = 2_500;

describe("copies of pages with their requisites", () => {
  let all;
  before(async () => {
    all = await looks();
  });
  after(() => all?.stop());

  const differing = async (paths, view, most) => {
    const found = [];
    for (const path of paths) {
      const share = await all.difference(await all.picture(path, "live"), await all.picture(path, view));
      if (share > most) found.push(`${path}: ${share}`);
    }
    return found;
  };

  it("look as on the web in the library of ReplayWeb.page", async () => {
    assert.equal(SOME.length, 20);
    assert.deepEqual(await differing(SOME.filter((path) => !NOT_IN_LIBRARY.includes(path)), "replayweb", 0), []);
  });

  it("look as on the web in the console, unless they need scripts", async () => {
    assert.deepEqual(await differing(STILL, "view", LETTERS), []);
    for (const [path, most] of Object.entries(OTHERS)) assert.deepEqual(await differing([path], "view", most), []);
    assert.equal(STILL.length + Object.keys(OTHERS).length, SOME.length);
  });

  it("run nothing, ask nobody and lead nowhere, in frames, drawings and fields either", async () => {
    const [dialogs, requests, navigations] = [[], [], []];
    const asked = all.asked.length;
    const { tab, url } = await all.opened("/hostile", (page) => {
      page.on("dialog", (dialog) => (dialogs.push(dialog.message()), dialog.dismiss()));
      page.on("request", (request) => requests.push(request.url()));
      page.on("popup", (popup) => navigations.push(popup.url()));
      page.on("framenavigated", (frame) => navigations.push(frame.url()));
    });
    const frame = tab.frameLocator("iframe").nth(1);
    await frame.getByText("In a frame").waitFor();
    for (const text of ["a drawn link", "a formula", "a link that leads away", "a button"]) await tab.getByText(text, { exact: true }).click();
    await tab.getByRole("button", { name: "a submit" }).click();
    await tab.getByRole("button", { name: "an image" }).click();
    const field = tab.locator("input[value='a field']");
    await field.fill("x");
    await field.press("Enter");
    await tab.waitForTimeout(LONG_ENOUGH);
    assert.deepEqual([dialogs, all.asked.slice(asked)], [[], []]);
    assert.deepEqual([...new Set(requests.filter((asked) => !asked.startsWith("data:")))], [url]);
    assert.deepEqual([...new Set(navigations)].sort(), ["about:srcdoc", url]);
    await tab.close();
  });
});
