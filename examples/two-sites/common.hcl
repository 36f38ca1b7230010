# What two sites share. Each site has a folder with its name and its values; its
# journals are in that folder, too:
#
#   holdfast plan -i two-sites/berlin -i two-sites/common.hcl --var-file two-sites/berlin/site.vars
#   holdfast plan -i two-sites/oslo -i two-sites/common.hcl --var-file two-sites/oslo/site.vars
#
# --var commit=COMMIT tries another OS without changing a file: it wins.

variable "site" {}
variable "network" {}
variable "workers" { type = "number" }
variable "commit" {}

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
