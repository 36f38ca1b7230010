# Configurations, and what a change of them takes. The folder base holds for
# all pools, the documents after it for one, and host.bu.tmpl for each host.
site "berlin" {
  ssh {
    user   = "core"
    become = "sudo"
  }
}

# A secret in a document: never shown. Given with HOLDFAST_VAR_token.
variable "token" { sensitive = true }

# Rules for all pools. Without a rule, a changed file is a drain and a reboot.
policy {
  path    = "/etc/chrony.conf"
  actions = ["restart chronyd"]
}
policy {
  glob    = "/etc/sysctl.d/*.conf"
  actions = ["restart systemd-sysctl"]
}

etcd_cluster "main" {
  tls {
    ca   = "/etc/etcd/ca.crt"
    cert = "/etc/etcd/client.crt"
    key  = "/etc/etcd/client.key"
  }
}

pool "etcd" {
  configs           = ["base", "etcd.bu"]
  on_action_failure = "stop" # a member is not rebooted because a restart failed
  os { driver = "rpm-ostree" }
}

pool "worker" {
  configs         = ["base", "worker.yaml"]
  max_unavailable = "10%"
  drift           = "report" # somebody debugs these by hand
  os { driver = "rpm-ostree" } # which OS: osImageURL in worker.yaml
  policy {
    unit    = "agent.service"
    actions = ["daemon-reload", "restart agent"]
    timeout = "5m"
  }
}

hosts "etcd" {
  range        = "0-2"
  address      = "10.0.0.1${id}"
  pool         = "etcd"
  etcd_cluster = "main"
}

hosts "worker" {
  range   = "01-24"
  address = "worker-${id}.berlin.example"
  pool    = "worker"
  config "host.bu" {
    content = templatefile("host.bu.tmpl", { name = "worker-${id}", token = var.token })
  }
}
