# Many hosts in few lines. Names are the label, a dash, and a number of the
# range as it is written there; ${id} is that number.

site "rows" {
  ssh {
    user   = "core"
    become = "sudo"
  }
}

variable "commit" {}

locals {
  network = "10.20.0.0/22"
}

pool "worker" {
  max_unavailable = "5%"
  os {
    driver = "ostree"
    commit = var.commit
  }
}

# a-001 to a-150, without two that were never bought.
hosts "a" {
  range   = "001-076,079-150"
  address = "a-${id}.rows.example"
  pool    = "worker"
  zone    = "row-a"
}

# Addresses can be counted instead: b-1 is 10.20.1.1, b-200 is 10.20.1.200.
hosts "b" {
  range   = "1-200"
  address = cidrhost(local.network, 256 + id)
  pool    = "worker"
  zone    = "row-b"
}

# -l a-[001:020] and -l zone=row-b choose some of them.
