# One inventory for sites that look alike, with a file of variables for each:
#
#   holdfast plan -i two-sites --var-file two-sites/berlin.vars
#   holdfast plan -i two-sites --var-file two-sites/oslo.vars
#
# --var commit=COMMIT tries another OS without changing a file: it wins.

variable "site" {}
variable "network" {}
variable "workers" { type = "number" }
variable "commit" {}

site "twins" {
  ssh {
    user        = "core"
    become      = "sudo"
    known_hosts = "${var.site}.known_hosts"
  }
}

pool "worker" {
  os {
    driver = "ostree"
    remote = var.site
    ref    = "${var.site}/stable"
    commit = var.commit
  }
}

hosts "worker" {
  range   = "1-${var.workers}"
  address = cidrhost(var.network, 10 + id)
  pool    = "worker"
}
