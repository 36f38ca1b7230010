# Values from outside, and values with names.
#
#   holdfast plan -i variables.hcl --var commit=COMMIT
#   holdfast plan -i variables.hcl --var-file today.vars
#
# today.vars has lines such as commit = "…". The token comes from the
# environment, as everybody on the bastion can read a command line:
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

# Being declared, it must be given, and is (sensitive) in every output.
variable "token" {
  sensitive = true
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
  # The command reads the token from its environment. ${var.token} would do,
  # too, but then the command line shows it to everybody while it runs.
  gate "monitoring" {
    command = "printf 'header = \"Authorization: Bearer %s\"' \"$HOLDFAST_VAR_token\" | curl -fsS --config - ${local.monitoring}/ok"
    when    = ["before-batch"]
  }
  ssh { port = var.worker_port }
}

host "worker-0" {
  address = "worker-0.${local.domain}"
  pool    = "worker"
}
