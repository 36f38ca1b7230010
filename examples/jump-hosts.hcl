# Hosts behind two jump hosts. Each hop's key is checked, too. ~/.ssh/config
# can say the same; what is here wins.

site "far" {
  ssh {
    user            = "core"
    become          = "sudo"
    proxy_jump      = "ops@gate.example,ops@inner.example:2222"
    connect_timeout = "30s"
  }
}

pool "worker" {
  os {
    driver = "ostree"
    commit = var.commit
  }
}

variable "commit" {}

host "far-0" {
  address = "10.9.0.10"
  pool    = "worker"
}

# One that is reached directly.
host "gate" {
  address = "gate.example"
  pool    = "worker"
  ssh {
    proxy_jump = "none"
  }
}
