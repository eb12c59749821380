//! What to do on the other side of an ssh connection.

/// The command that brings the page to the machine that the user sits at; nothing where that is
/// this one.
pub fn lines(port: u16) -> Vec<String> {
    let connection = std::env::var("SSH_CONNECTION").unwrap_or_default();
    if connection.is_empty() {
        return Vec::new();
    }
    vec![
        "On the machine you sit at, run this and open the address above there:".to_owned(),
        command(port, &connection),
    ]
}

fn command(port: u16, connection: &str) -> String {
    let host = host(connection);
    let user = std::env::var("USER").ok().filter(|user| !user.is_empty());
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    format!("  ssh -N -L {port}:127.0.0.1:{port} {user}{host}")
}

/// `SSH_CONNECTION` is the client's address and port, then the server's.
fn host(connection: &str) -> &str {
    connection.split_whitespace().nth(2).unwrap_or("HOST")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_named_as_the_client_reached_it() {
        assert_eq!(host("10.0.0.1 5000 192.0.2.7 22"), "192.0.2.7");
        assert_eq!(host("broken"), "HOST");
    }
}
