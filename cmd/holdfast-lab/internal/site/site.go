// Package site renders the files that holdfast needs to reach the lab: an
// inventory, known_hosts and an SSH key. The inventory names the other two by
// relative paths, so that the site folder can be copied. The package does no I/O.
package site

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// These are the names of the files that holdfast reads in a site folder.
const (
	Inventory  = "inventory.hcl"
	KnownHosts = "known_hosts"
	Identity   = "id_ed25519"
	// BMCAuthority and BMCPassword are there if the lab serves Redfish.
	BMCAuthority = "bmc-ca.pem"
	BMCPassword  = "bmc-password"
	// Kubeconfig is there if the hosts are nodes of a Kubernetes cluster.
	Kubeconfig = "kubeconfig"
)

// BMC is the Redfish service of a lab, which has a system for each host.
type BMC struct{ Address, User string }

const head = `# Written by holdfast-lab; "holdfast-lab up" overwrites it.
site "lab" {
  ssh {
    user        = "core"
    known_hosts = "%s"
    identity    = "%s"
    become      = "sudo"
  }
}

# The operating system that every host should run; --var commit=… overrides it.
variable "commit" {
  default = "%s"
}
`

const cluster = `
etcd_cluster "%s" {
  client_port = 2379
  tls {
    ca   = "/etc/etcd/ca.crt"
    cert = "/etc/etcd/peer.crt"
    key  = "/etc/etcd/peer.key"
  }
}
`

const kubernetesCluster = `
kubernetes "lab" {
  kubeconfig = "%s"
}
`

const pool = `
pool "%s" {
%s  os {
    driver = "ostree"
    ref    = "%s"
    commit = var.commit
    remote = "%s"
  }
%s}
`

const poolBMC = `  bmc {
    address       = "%s"
    ca            = "%s"
    user          = "%s"
    password_file = "%s"
  }
`

// RenderInventory returns the inventory of a lab. The hosts follow a branch, and run a commit of
// it. bmc is nil if they have no management controllers.
func RenderInventory(s spec.Spec, ref, commit string, bmc *BMC) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, head, KnownHosts, Identity, commit)
	for _, c := range s.Clusters {
		fmt.Fprintf(&b, cluster, c.Name)
	}
	nodes := ""
	if s.Kubernetes {
		fmt.Fprintf(&b, kubernetesCluster, Kubeconfig)
		nodes = "  kubernetes = \"lab\"\n"
	}
	for _, p := range s.Pools() {
		controllers := ""
		if bmc != nil {
			controllers = fmt.Sprintf(poolBMC, bmc.Address, BMCAuthority, bmc.User, BMCPassword)
		}
		fmt.Fprintf(&b, pool, p, nodes, ref, image.Remote, controllers)
	}
	for _, h := range s.Hosts {
		b.WriteString(renderHost(h, bmc))
	}
	return []byte(b.String())
}

func renderHost(h spec.Host, bmc *BMC) string {
	attributes := [][2]string{{"address", h.Address()}, {"pool", h.Pool}, {"etcd_cluster", h.Cluster}, {"zone", h.Zone}}
	width := len("address")
	if h.Cluster != "" {
		width = len("etcd_cluster")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nhost %q {\n", h.Name)
	for _, a := range attributes {
		if a[1] != "" {
			fmt.Fprintf(&b, "  %-*s = %q\n", width, a[0], a[1])
		}
	}
	if bmc != nil {
		fmt.Fprintf(&b, "  bmc {\n    system = %q\n  }\n", h.Name)
	}
	b.WriteString("}\n")
	return b.String()
}

// RenderKnownHosts returns a known_hosts file. keys maps host names to public
// keys in the format of authorized_keys.
func RenderKnownHosts(s spec.Spec, keys map[string]string) []byte {
	var b strings.Builder
	for _, h := range s.Hosts {
		fields := strings.Fields(keys[h.Name])
		if len(fields) >= 2 {
			fmt.Fprintf(&b, "%s %s %s\n", h.Address(), fields[0], fields[1])
		}
	}
	return []byte(b.String())
}

// NewKey makes an SSH key pair. The private key is in OpenSSH format, and the
// public key is a line of authorized_keys.
func NewKey(comment string) (private, public string, err error) {
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("make ssh key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(priv, comment)
	if err != nil {
		return "", "", fmt.Errorf("encode ssh key: %w", err)
	}
	key, err := ssh.NewPublicKey(pub)
	if err != nil {
		return "", "", fmt.Errorf("encode ssh key: %w", err)
	}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + " " + comment + "\n"
	return string(pem.EncodeToMemory(block)), line, nil
}
