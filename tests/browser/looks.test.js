// Copies of pages that need style sheets, fonts, images, frames and scripts look as the pages do.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { PAGES } from "./looks-site.js";
import { LETTERS, looks } from "./looks-views.js";

/** One page of each kind; those that a script fills are rendered. */
const SOME = PAGES.filter((path) => path.endsWith("/2"));
/** The library makes frames of objects. */
const NOT_IN_LIBRARY = ["/players/2"];
/** Kinds of pages that need no script, no frame, no form, and no choice by the reader's screen. */
const STILL = ["/sheets/2", "/imports/2", "/fonts/2", "/rendered/written/2", "/rendered/lazy/2", "/grounds/2", "/media/2", "/old/2", "/picture/2", "/spelling/2"];

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
  });
});
