// What axe finds.

import axe from "axe-core";

/** The violations that axe finds in a page. */
export async function violations(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  const found = await page.evaluate(() => window.axe.run(document));
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}
