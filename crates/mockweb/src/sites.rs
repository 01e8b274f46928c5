//! Names and addresses of the hosts.
//!
//! Host number h (from 0) listens on 127.1.0.0 + h + 1, all hosts on one port. Linux accepts any
//! address of 127.0.0.0/8 without set-up. With a domain the host is also called `h1.DOMAIN` and so
//! on. With fewer addresses than hosts, several hosts share an address and only names tell them
//! apart.

use std::net::Ipv4Addr;

/// Maximum hosts: the addresses of 127.1.0.0/16 after the first.
pub const MAX_HOSTS: u32 = 65_534;

/// How a client names hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `127.1.0.1:8000`
    Address,
    /// `h1.mock.test:8000`
    Name,
}

/// All hosts.
#[derive(Clone, Debug)]
pub struct Sites {
    port: u16,
    hosts: u32,
    addresses: Vec<Ipv4Addr>,
    /// For each host, the index of its address in `addresses`.
    places: Vec<usize>,
    /// The host of each address; `None` if several share it.
    alone: Vec<Option<u32>>,
    domain: Option<String>,
    by_address: Vec<String>,
    by_name: Vec<String>,
}

/// The address of listener `number`, from 0.
pub fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 1)) + number)
}

impl Sites {
    /// Names the hosts. Fewer addresses than hosts need a domain. Hosts are assigned to addresses
    /// in turn, except the last `crowd` hosts, which share the last address without other hosts.
    pub fn new(hosts: u32, addresses: u32, crowd: u32, port: u16, domain: Option<&str>) -> Sites {
        let addresses: Vec<Ipv4Addr> = (0..addresses).map(address).collect();
        let (apart, last) = ((hosts - crowd) as usize, addresses.len() - 1);
        let dealt = if crowd > 0 { last } else { addresses.len() };
        let places: Vec<usize> =
            (0..hosts as usize).map(|h| if h < apart { h % dealt } else { last }).collect();
        let mut crowds = vec![Vec::new(); addresses.len()];
        places.iter().zip(0..).for_each(|(place, host)| crowds[*place].push(host));
        let alone =
            crowds.iter().map(|crowd| if let [host] = crowd[..] { Some(host) } else { None }).collect();
        let by_address = places.iter().map(|place| format!("{}:{port}", addresses[*place])).collect();
        let domain = domain.map(|d| d.trim_matches('.').to_ascii_lowercase());
        let by_name = domain
            .iter()
            .flat_map(|domain| (1..=hosts).map(move |h| format!("h{h}.{domain}:{port}")))
            .collect();
        Sites { port, hosts, addresses, places, alone, domain, by_address, by_name }
    }

    /// The port of all hosts.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The addresses it listens on.
    pub fn addresses(&self) -> &[Ipv4Addr] {
        &self.addresses
    }

    /// The address of a host, by number.
    pub fn address_of(&self, host: usize) -> Ipv4Addr {
        self.addresses[self.places[host]]
    }

    /// The spelling in the web's own links: names if it has a domain.
    pub fn spelling(&self) -> Spelling {
        if self.domain.is_some() { Spelling::Name } else { Spelling::Address }
    }

    /// The names of the hosts, `name:port`.
    pub fn authorities(&self, spelling: Spelling) -> &[String] {
        match spelling {
            Spelling::Address => &self.by_address,
            Spelling::Name => &self.by_name,
        }
    }

    /// The host of a `Host` field and its spelling; `None` if there is none.
    pub fn resolve(&self, authority: &str) -> Option<(u32, Spelling)> {
        let (name, port) = match authority.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().ok()?),
            None => (authority, 80),
        };
        if port != self.port {
            return None;
        }
        if let Ok(address) = name.parse::<Ipv4Addr>() {
            let place = self.addresses.iter().position(|a| *a == address)?;
            return self.alone[place].map(|host| (host, Spelling::Address));
        }
        let name = name.to_ascii_lowercase();
        let number = name.strip_suffix('.').unwrap_or(&name).strip_suffix(self.domain.as_deref()?)?;
        let number: u32 = number.strip_suffix('.')?.strip_prefix('h')?.parse().ok()?;
        (1..=self.hosts).contains(&number).then(|| (number - 1, Spelling::Name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_answer_to_address_and_name() {
        let sites = Sites::new(300, 300, 0, 81, Some("mock.test"));
        assert_eq!(sites.authorities(Spelling::Address)[299], "127.1.1.44:81");
        assert_eq!(sites.authorities(Spelling::Name)[299], "h300.mock.test:81");
        assert_eq!(sites.resolve("127.1.1.44:81"), Some((299, Spelling::Address)));
        assert_eq!(sites.resolve("H300.Mock.Test.:81"), Some((299, Spelling::Name)));
        for stranger in
            ["h0.mock.test:81", "h301.mock.test:81", "mock.test:81", "127.1.1.45:81", "127.1.1.44", ""]
        {
            assert_eq!(sites.resolve(stranger), None, "{stranger}");
        }
    }

    #[test]
    fn on_a_shared_address_only_names_tell_hosts_apart() {
        let sites = Sites::new(1_000, 1, 0, 81, Some("mock.test"));
        assert_eq!(sites.resolve("h777.mock.test:81"), Some((776, Spelling::Name)));
        assert_eq!(sites.resolve("127.1.0.1:81"), None);
        assert_eq!(sites.addresses(), [address(0)]);
        let sites = Sites::new(10, 8, 3, 81, Some("mock.test"));
        let places: Vec<Ipv4Addr> = (0..10).map(|host| sites.address_of(host)).collect();
        let expected: Vec<Ipv4Addr> = [0, 1, 2, 3, 4, 5, 6, 7, 7, 7].into_iter().map(address).collect();
        assert_eq!(places, expected);
        assert_eq!(sites.resolve("127.1.0.7:81"), Some((6, Spelling::Address)));
        assert_eq!(sites.resolve("127.1.0.8:81"), None);
    }
}
