# A site in several files: holdfast reads all *.hcl of a folder together.

site "large" {
  ssh {
    user        = "core"
    known_hosts = "known_hosts"
    become      = "sudo"
  }
}

variable "commit" {}

locals {
  domain = "large.example"
}
