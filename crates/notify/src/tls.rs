//! Whom to believe that they are who they say they are.

use std::io;
use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Whose certificates count.
#[derive(Debug, Clone)]
pub enum Authorities {
    /// Those of this machine; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.
    System,
    /// These alone.
    Only(Vec<CertificateDer<'static>>),
}

/// How webhooks are called over TLS. It reads files.
pub(crate) fn config(authorities: &Authorities) -> io::Result<Arc<ClientConfig>> {
    let (certificates, errors) = match authorities {
        Authorities::System => {
            let found = rustls_native_certs::load_native_certs();
            (found.certs, found.errors)
        }
        Authorities::Only(certificates) => (certificates.clone(), Vec::new()),
    };
    let mut roots = RootCertStore::empty();
    // A machine's store may hold one that cannot be read; the others count.
    let (taken, _) = roots.add_parsable_certificates(certificates);
    if taken == 0 {
        let why = errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(io::Error::other(format!(
            "there are no certificates of authorities on this machine{why}: install ca-certificates, or name a file in SSL_CERT_FILE"
        )));
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
