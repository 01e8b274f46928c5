use super::*;
use proptest::prelude::*;
use recrawl_types::UrlRules;

/// Both ends and the middle of a block.
fn samples(block: IpNet) -> Vec<IpAddr> {
    match block {
        IpNet::V4(b) => {
            let (first, last) = (u32::from(b.network()), u32::from(b.broadcast()));
            [first, first.midpoint(last), last].map(|v| IpAddr::V4(v.into())).to_vec()
        }
        IpNet::V6(b) => {
            let (first, last) = (u128::from(b.network()), u128::from(b.broadcast()));
            [first, first.midpoint(last), last].map(|v| IpAddr::V6(v.into())).to_vec()
        }
    }
}

/// Spellings that inet_aton and the WHATWG parser read as this address.
fn spellings(address: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = address.octets();
    let all = u32::from(address);
    let low16 = u16::from_be_bytes([c, d]);
    let low24 = all & 0xff_ffff;
    vec![
        format!("{a}.{b}.{c}.{d}"),
        format!("{a}.{b}.{c}.{d}."),
        format!("{all}"),
        format!("{all:#x}"),
        format!("{all:#X}").replace("0X", "0X"),
        format!("0{all:o}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("0000{a:o}.{b}.{c:#x}.{d}"),
        format!("{a}.{b}.{low16}"),
        format!("{a}.{low24}"),
        format!("{a:#x}.{low24:#x}"),
        // full-width digits and the ideographic full stop, as IDNA maps them
        format!("{a}.{b}.{c}.{d}")
            .chars()
            .map(|ch| match ch {
                '.' => '\u{3002}',
                digit => char::from_u32(digit as u32 - '0' as u32 + 0xff10).unwrap(),
            })
            .collect(),
        // percent-encoded
        format!("{a}.{b}.{c}.{d}").bytes().map(|b| format!("%{b:02X}")).collect(),
        format!("[::ffff:{a}.{b}.{c}.{d}]"),
        format!("[::ffff:{:x}:{:x}]", all >> 16, all & 0xffff),
        format!("[0:0:0:0:0:FFFF:{a}.{b}.{c}.{d}]"),
        format!("[::{a}.{b}.{c}.{d}]"),
        format!("[64:ff9b::{a}.{b}.{c}.{d}]"),
        format!("[2002:{:x}:{:x}::1]", all >> 16, all & 0xffff),
    ]
}

#[test]
fn every_block_outside_the_public_internet_is_refused_in_every_spelling() {
    let guard = Guard::default();
    let mut checked = 0;
    for (base, length) in REFUSED_V4 {
        for address in samples(IpNet::new_assert(base.into(), length)) {
            assert!(!guard.admits(address), "{address}");
            let IpAddr::V4(v4) = address else { unreachable!("a v4 block") };
            for spelling in spellings(v4) {
                for url in [format!("http://{spelling}/"), format!("https://u:p@{spelling}:8443/x")] {
                    let url = UrlRules::default().canonicalize(&url).expect(&url);
                    let host = url.host();
                    assert!(literal(&host).is_some(), "{spelling} is not seen as an address: {host}");
                    assert!(!guard.admits_host(&host), "{spelling} → {host}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 2_000, "{checked}");
}

#[test]
fn special_ipv6_is_refused() {
    let guard = Guard::default();
    for host in [
        "::",
        "::1",
        "::2",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "fc00::1",
        "fd00:ec2::254",
        "fdff::1",
        "ff02::1",
        "ff0e::1",
        "2001:db8::1",
        "2001::1",
        "2001:10::1",
        "2001:20::1",
        "2001:1ff::1",
        "3fff::1",
        "3fff:fff::1",
        "100::1",
        "64:ff9b:1::1",
        "64:ff9b::a00:1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2002:c0a8:101::1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "5f00::1",
        "4000::1",
        "e000::1",
        "2620:4f:8000::1",
    ] {
        let url = UrlRules::default().canonicalize(&format!("http://[{host}]/")).unwrap();
        assert!(!guard.admits_host(&url.host()), "{host}");
    }
}

#[test]
fn the_public_internet_is_admitted() {
    let guard = Guard::default();
    for host in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "203.0.112.255",
        "223.255.255.255",
        "168.63.129.17",
        "[2606:4700::1111]",
        "[2a00:1450::1]",
        "[2001:200::1]",
        "[2002:808:808::1]",
        "[64:ff9b::808:808]",
        "[::ffff:8.8.8.8]",
        "example.com",
    ] {
        assert!(guard.admits_host(host), "{host}");
    }
}

#[test]
fn allowed_blocks_are_exempt_and_nothing_beside_them() {
    let guard = Guard::new(&["127.1.0.0/16".parse().unwrap(), "fd12::/16".parse().unwrap()]);
    for (host, admitted) in [
        ("127.1.0.1", true),
        ("[::ffff:127.1.0.1]", true),
        ("127.2.0.1", false),
        ("127.0.0.1", false),
        ("[fd12::1]", true),
        ("[fd13::1]", false),
        ("[::1]", false),
        // Reached through a translator, so it is not the allowed loopback.
        ("[64:ff9b::7f01:1]", false),
    ] {
        assert_eq!(guard.admits_host(host), admitted, "{host}");
    }
}

proptest! {
    /// The decision about an IPv4 address does not depend on its spelling.
    #[test]
    fn all_spellings_are_judged_alike(bits: u32) {
        let guard = Guard::default();
        let v4 = Ipv4Addr::from(bits);
        let verdict = guard.admits(IpAddr::V4(v4));
        for spelling in spellings(v4).into_iter().filter(|s| !s.starts_with("[::") || s.contains("ffff")) {
            let url = UrlRules::default().canonicalize(&format!("http://{spelling}/")).unwrap();
            prop_assert_eq!(guard.admits_host(&url.host()), verdict, "{}", spelling);
        }
    }
}

#[test]
fn without_a_contact_nothing_but_the_loopback_is_admitted() {
    let guard = Guard::new(&["127.0.0.0/8".parse().unwrap(), "10.0.0.0/8".parse().unwrap()]).only_loopback();
    for (address, admitted) in [
        ("127.0.0.1", true),
        ("127.9.8.7", true),
        ("::ffff:127.0.0.1", true),
        ("::1", false),
        ("10.0.0.1", false),
        ("9.9.9.9", false),
        ("2001:4860:4860::8888", false),
        ("::ffff:9.9.9.9", false),
        ("64:ff9b::7f00:1", false),
    ] {
        assert_eq!(guard.admits(address.parse().unwrap()), admitted, "{address}");
    }
    assert!(!Guard::new(&[]).only_loopback().admits("127.0.0.1".parse().unwrap()), "still to be allowed");
    assert!(!guard.admits_host("9.9.9.9") && guard.admits_host("127.0.0.1"));
}
