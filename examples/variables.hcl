# Values from outside, values with names, and functions.
#
#   holdfast plan -i variables.hcl --var commit=…
#   HOLDFAST_VAR_commit=… holdfast plan -i variables.hcl
#   holdfast plan -i variables.hcl --var-file today.vars   # commit = "…"

variable "commit" {}

variable "site" {
  description = "which of the sites that look alike"
  default     = "berlin"
}

variable "token" {
  default   = "not this one"
  sensitive = true # shown nowhere
}

locals {
  network = { berlin = "10.1.0.0/24", oslo = "10.2.0.0/24" }[var.site]
}

site "twins" {
  ssh {
    user   = "core"
    become = "sudo"
  }
}

pool "all" {
  os {
    driver = "ostree"
    commit = var.commit
  }
  gate "monitoring" {
    command = "curl -fsS -H 'Authorization: Bearer ${var.token}' https://monitoring.example/ok"
    when    = ["before_batch"]
  }
}

host "first" {
  address = cidrhost(local.network, 10)
  pool    = "all"
}
