site "berlin" {
  ssh {
    user        = "core"
    become      = "sudo"
    known_hosts = "known_hosts"
  }
}
