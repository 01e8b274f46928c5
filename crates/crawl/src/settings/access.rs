//! Checks `[[hosts]]` and `[proxy]`: what is sent to single hosts, and the proxy of all requests.

use crate::config::{HostTable, ProxyTable};
use data_encoding::BASE64;
use recrawl_fetcher::{HostAccess, Proxy};
use recrawl_types::{HostPattern, WrittenHost};

/// Credentials, headers and cookies of each configured host.
///
/// # Errors
/// Names the host and the key, never a value.
pub fn of_hosts(hosts: &[HostTable]) -> Result<Vec<HostAccess>, String> {
    let mut all: Vec<HostAccess> = Vec::new();
    for table in hosts {
        let named = |e: String| format!("[[hosts]] {:?}: {e}", table.host);
        let access = of_host(table).map_err(named)?;
        if let Some(at) = all.iter().position(|other| other.overlaps(&access)) {
            let other = &hosts[at].host;
            return Err(named(format!("{other:?} is of the same requests; write one table for both")));
        }
        all.push(access);
    }
    Ok(all)
}

fn of_host(table: &HostTable) -> Result<HostAccess, String> {
    let host = WrittenHost::of_urls(&table.host)
        .map_err(|e| format!("{e}; write example.com or example.com:8443"))?;
    let mut access = HostAccess::new(host, table.over_http);
    let keyed = |key: &'static str| move |e: String| format!("{key}: {e}");
    match (table.user.is_empty() && table.password.is_empty(), table.bearer.is_empty()) {
        (true, true) => {}
        (false, true) => {
            if table.user.is_empty() || table.user.contains(':') {
                return Err("user: must be a name without a colon (RFC 7617 section 2)".into());
            }
            let password = table.password.referred().map_err(keyed("password"))?;
            let both = BASE64.encode(format!("{}:{password}", table.user).as_bytes());
            access.add("authorization", &format!("Basic {both}"))?;
        }
        (true, false) => {
            let token = table.bearer.referred().map_err(keyed("bearer"))?;
            access.add("authorization", &format!("Bearer {token}"))?;
        }
        (false, false) => return Err("set either user and password or bearer, not both".into()),
    }
    for (name, value) in &table.headers {
        access.add(name, &value.value().map_err(keyed("headers"))?)?;
    }
    let mut cookies = Vec::new();
    for (name, value) in &table.cookies {
        let value = value.value().map_err(keyed("cookies"))?;
        if name.is_empty()
            || name.contains(['=', ';', ',', ' '])
            || value.contains([';', ',', ' ', '"', '\\'])
        {
            return Err(format!("cookies: invalid name or value for {name:?} (RFC 6265 section 4.1.1)"));
        }
        cookies.push(format!("{name}={value}"));
    }
    if !cookies.is_empty() {
        access.add("cookie", &cookies.join("; "))?;
    }
    Ok(access)
}

/// The configured proxy, if any.
///
/// # Errors
/// Names the key, never a value.
pub fn of_proxy(table: &ProxyTable) -> Result<Option<Proxy>, String> {
    if table.url.is_empty() {
        return Ok(None);
    }
    let password = match table.user.is_empty() {
        true => None,
        false => Some(table.password.referred().map_err(|e| format!("proxy.password: {e}"))?),
    };
    let credentials = password.as_deref().map(|password| (table.user.as_str(), password));
    let except = HostPattern::all("proxy.except", &table.except)?;
    if except.contains(&HostPattern::Any) {
        return Err("proxy.except: `*` matches every host; leave proxy.url empty instead".into());
    }
    Proxy::new(&table.url, credentials, except).map(Some).map_err(|e| format!("proxy.url: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_gets_the_fields_of_one_table_and_each_field_once() {
        let of = |text: &str| {
            let config: crate::config::Config = toml::from_str(text).unwrap();
            of_hosts(&config.hosts).map(|all| all.len())
        };
        let one = "[[hosts]]\nhost = \"a.test\"\nheaders = { Cookie = \"a=1\" }\n";
        assert_eq!(of(one), Ok(1));
        assert_eq!(of(&format!("{one}{}", one.replace("a.test", "a.test:8443"))), Ok(2));
        let twice = of(&format!("{one}{}", one.replace("a.test", "A.test:443"))).unwrap_err();
        assert!(twice.contains("\"a.test\" is of the same requests"), "{twice}");
        let cookies = of(&format!("{one}cookies = {{ b = \"2\" }}\n")).unwrap_err();
        assert!(cookies.contains("cookie is set twice"), "{cookies}");
    }

    #[test]
    fn exceptions_of_the_proxy_are_hosts_in_their_canonical_spelling() {
        let with = |except: &str| {
            let table = ProxyTable {
                url: "http://proxy.test:3128".into(),
                except: vec![except.into()],
                ..ProxyTable::default()
            };
            of_proxy(&table).map(|proxy| proxy.expect("one is named"))
        };
        for (except, host) in [
            ("Example.COM.", "example.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("*.Bücher.example", "www.xn--bcher-kva.example"),
            ("0x7f.1", "127.0.0.1"),
            ("[0:0::1]", "[::1]"),
        ] {
            assert!(!with(except).unwrap().covers(host), "{except}");
            assert!(with(except).unwrap().covers("other.test"), "{except}");
        }
        for wrong in ["*", "example.com:8080", "http://example.com/", "10.0.0.0/8", ""] {
            assert!(with(wrong).unwrap_err().starts_with("proxy.except"), "{wrong}");
        }
    }
}
