# Values from outside, and values with names.
#
#   holdfast plan -i variables.hcl --var commit=COMMIT
#   holdfast plan -i variables.hcl --var-file today.vars
#
# today.vars has lines such as commit = "…". The token comes from the
# environment here, as everybody on the bastion can read a command line:
#
#   export HOLDFAST_VAR_token="$(pass show monitoring)"

site "values" {
  ssh {
    user   = "core"
    become = "sudo"
  }
}

variable "commit" {} # without a default it must be given

variable "worker_port" {
  type    = "number"
  default = 22
}

variable "token" {
  sensitive = true # (sensitive) in every output
}

locals {
  monitoring = "https://monitoring.${local.domain}"
  domain     = "values.example" # the order does not matter
}

pool "worker" {
  os {
    driver = "ostree"
    commit = var.commit
  }
  gate "monitoring" {
    command = "curl -fsS -H 'Authorization: Bearer ${var.token}' ${local.monitoring}/ok"
    when    = ["before_batch"]
  }
  ssh { port = var.worker_port }
}

host "worker-0" {
  address = "worker-0.${local.domain}"
  pool    = "worker"
}
