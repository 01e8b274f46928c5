//! Sites and groups of pages. Pages of a group change more alike than others, so halves and resamples go by groups.

use crate::histories::SeenPage;
use recrawl_types::Site;
use std::collections::HashMap;

/// Sites below which the first segment of the path counts as well, so that groups can be compared.
const FEW_SITES: usize = 10;

/// The sites and groups of some pages.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub sites: Vec<String>,
    pub groups: Vec<String>,
    /// Of each page, its site and its group.
    pub of_pages: Vec<(u32, u32)>,
}

impl Places {
    pub fn from_pages(pages: &[SeenPage]) -> Places {
        let (mut sites, mut groups) = (PlaceNames::default(), PlaceNames::default());
        let site_of = |page: &SeenPage| Site::of_host(&page.url.host()).to_string();
        let of_site: Vec<u32> = pages.iter().map(|page| sites.place(site_of(page))).collect();
        let has_few = sites.all.len() < FEW_SITES;
        let group = |(page, site): (&SeenPage, &u32)| {
            let text = page.url.as_text();
            let path = text.splitn(4, '/').nth(3).unwrap_or_default();
            let folder = path.split_once('/').map_or("", |(folder, _)| folder);
            let name = &sites.all[*site as usize];
            if has_few { format!("{name}/{folder}") } else { name.clone() }
        };
        let names: Vec<String> = pages.iter().zip(&of_site).map(group).collect();
        let of_group = names.into_iter().map(|name| groups.place(name));
        let of_pages = of_site.iter().copied().zip(of_group).collect();
        Places { sites: sites.all, groups: groups.all, of_pages }
    }
}

/// Names in the order of their first use.
#[derive(Default)]
struct PlaceNames {
    all: Vec<String>,
    places: HashMap<String, u32>,
}

impl PlaceNames {
    fn place(&mut self, name: String) -> u32 {
        *self.places.entry(name).or_insert_with_key(|name| {
            self.all.push(name.clone());
            self.all.len() as u32 - 1
        })
    }
}
