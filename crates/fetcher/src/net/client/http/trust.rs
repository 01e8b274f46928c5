//! Certificates that the operator trusts besides the system's authorities.
//!
//! A server may show one of them as its own, as `openssl req -x509` makes it: with the mark of an authority, which a
//! verifier refuses in a server's certificate (RFC 5280 §4.2.1.9). The operator named this very certificate, so it is taken
//! for the names in it, as curl does. Dates and signatures are checked as always.

use super::SetupError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;
use std::sync::Arc;

/// Checks the content of a file of certificates, before a crawl begins with it.
///
/// # Errors
/// That it has none, or that one cannot be read.
pub fn check_authorities(pem: &[u8]) -> Result<(), SetupError> {
    certificates(pem).map(drop)
}

/// The certificates of a file.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|error| SetupError::Authority(error.to_string()))?;
    if all.is_empty() {
        return Err(SetupError::NoAuthority);
    }
    roots(&all)?;
    Ok(all)
}

fn roots(certificates: &[CertificateDer<'static>]) -> Result<RootCertStore, SetupError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(certificate.clone()).map_err(|error| SetupError::Authority(error.to_string()))?;
    }
    Ok(roots)
}

/// TLS of a client that trusts the certificates of these files, too.
pub fn tls(files: &[Vec<u8>], protocols: &[&[u8]]) -> Result<ClientConfig, SetupError> {
    let own = files.iter().map(|pem| certificates(pem)).collect::<Result<Vec<_>, _>>()?.concat();
    let provider = Arc::new(ring::default_provider());
    let verifier = OperatorVerifier::new(own, &provider)?;
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(SetupError::Tls)?.dangerous();
    let mut config = config.with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(config)
}

#[derive(Debug)]
struct OperatorVerifier {
    /// Knows the system's authorities and those of the operator.
    all: Verifier,
    own: Vec<CertificateDer<'static>>,
    /// Knows those alone.
    only_own: Arc<WebPkiServerVerifier>,
}

impl OperatorVerifier {
    fn new(
        own: Vec<CertificateDer<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<OperatorVerifier, SetupError> {
        let all = Verifier::new_with_extra_roots(own.clone(), provider.clone()).map_err(SetupError::Tls)?;
        let only_own = WebPkiServerVerifier::builder_with_provider(roots(&own)?.into(), provider.clone());
        let only_own = only_own.build().map_err(|error| SetupError::Authority(error.to_string()))?;
        Ok(OperatorVerifier { all, own, only_own })
    }
}

impl ServerCertVerifier for OperatorVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if !self.own.contains(certificate) {
            return self.all.verify_server_cert(certificate, others, name, ocsp, now);
        }
        match self.only_own.verify_server_cert(certificate, others, name, ocsp, now) {
            // Its dates were checked before.
            Err(error) if is_of_authority(&error) => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            // It may be signed by an authority of the system.
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                self.all.verify_server_cert(certificate, others, name, ocsp, now)
            }
            decided => decided,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.all.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.all.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.all.supported_verify_schemes()
    }
}

/// Was a certificate refused for its mark of an authority alone?
fn is_of_authority(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::Other(other)) => {
            other.0.downcast_ref::<webpki::Error>() == Some(&webpki::Error::CaUsedAsEndEntity)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Of h2.test, as `openssl req -x509` makes it.
    const OWN: &[u8] = include_bytes!("certificates/own.pem");
    const AUTHORITY: &[u8] = include_bytes!("certificates/authority.pem");
    const SERVER: &[u8] = include_bytes!("certificates/server.pem");
    const YEAR: u64 = 365 * 24 * 3600;

    /// Is a certificate taken for a name, in a year after 1970?
    fn takes(trusted: &[&[u8]], shown: &[u8], name: &str, year: u64) -> Result<(), Error> {
        let own: Vec<_> = trusted.iter().flat_map(|pem| certificates(pem).unwrap()).collect();
        let verifier = OperatorVerifier::new(own, &Arc::new(ring::default_provider())).unwrap();
        let (shown, name) =
            (CertificateDer::from_pem_slice(shown).unwrap(), ServerName::try_from(name).unwrap());
        let now = UnixTime::since_unix_epoch(Duration::from_secs(year * YEAR));
        verifier.verify_server_cert(&shown, &[], &name, &[], now).map(drop)
    }

    #[test]
    fn a_certificate_of_the_operator_is_taken_for_its_names_and_time() {
        use CertificateError::{ExpiredContext, NotValidForNameContext};
        for trusted in [&[OWN][..], &[AUTHORITY, OWN]] {
            assert_eq!(takes(trusted, OWN, "h2.test", 60), Ok(()));
            let error = takes(trusted, OWN, "other.test", 60).unwrap_err();
            assert!(matches!(error, Error::InvalidCertificate(NotValidForNameContext { .. })), "{error}");
            let error = takes(trusted, OWN, "h2.test", 200).unwrap_err();
            assert!(matches!(error, Error::InvalidCertificate(ExpiredContext { .. })), "{error}");
        }
        // Nobody else's is, and what it signed is no matter.
        assert!(is_of_authority(&takes(&[AUTHORITY], OWN, "h2.test", 60).unwrap_err()));
        assert!(takes(&[OWN], SERVER, "h2.test", 60).is_err());
        assert_eq!(takes(&[AUTHORITY], SERVER, "h2.test", 60), Ok(()));
        assert!(takes(&[SERVER], SERVER, "other.test", 60).is_err());
    }
}
