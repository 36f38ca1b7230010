# Rules for files of the kubelet and of container runtimes, to copy into an inventory:
# with them, a changed configuration restarts its program and does not reboot the host.
# docs/config-changes.md has the reasons.

site "example" {
  ssh {
    user        = "core"
    known_hosts = "known_hosts"
    become      = "sudo"
  }
}

pool "worker" {
  policy {
    path    = "/etc/kubernetes/kubelet.conf.d"
    actions = ["restart kubelet"]
  }
  policy {
    path    = "/var/lib/kubelet/config.yaml"
    actions = ["restart kubelet"]
  }
  policy {
    path    = "/etc/crio/crio.conf.d"
    actions = ["drain", "restart crio"]
  }
  policy {
    path    = "/etc/crio/crio.conf.d/50-reload.conf" # only options that CRI-O reads again
    actions = ["reload crio"]
  }
  policy {
    path    = "/etc/containerd"
    actions = ["restart containerd"]
  }
}

host "worker-01" {
  address = "worker-01.example.com"
  pool    = "worker"
}
