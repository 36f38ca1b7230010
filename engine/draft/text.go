package draft

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"holdfast/engine/textutil"
)

const exampleOS = `  # os {
  #   driver = "ostree"           # or "rpm-ostree", "bootc"
  #   remote = "REMOTE"           # as in /etc/ostree/remotes.d on the hosts
  #   ref    = "BRANCH"
  #   commit = "64 hexadecimal digits"
  # }
  # configs = ["configs/base.bu"] # Butane, Ignition or MachineConfig
`

const exampleEtcd = `
# holdfast never infers from a name that a host is a member of etcd. If hosts of
# this site are members, describe their cluster, and name it in the block of
# each of them: etcd_cluster = "main". holdfast compares it with the cluster's own
# list of members before it disrupts one.
#
# etcd_cluster "main" {
#   tls { # paths on the members
#     ca   = "/etc/etcd/ca.crt"
#     cert = "/etc/etcd/peer.crt"
#     key  = "/etc/etcd/peer.key"
#   }
# }
`

const exampleSSH = `  ssh { # ssh_config has the other settings
    # user = "core"
    become = "sudo" # holdfast needs root; if the user is root, this has no effect
  }
`

const exampleHosts = `
pool "worker" {
` + exampleOS + `}

# An example. Write your hosts here.
hosts "worker" { # worker-1, worker-2
  range   = "1-2"
  address = "192.0.2.${id}"
  pool    = "worker"
}

# One that differs:
#
# host "worker-gpu" {
#   address = "10.0.3.7"
#   pool    = "worker"
#   ssh {
#     user = "admin"
#   }
# }
`

// formatInventory returns the text of the inventory.
func formatInventory(s Site, shared Connection, pools []*pool) string {
	var b strings.Builder
	b.WriteString("# Written by holdfast init")
	if s.Source != "" {
		b.WriteString(" from " + oneLine(s.Source))
	}
	b.WriteString(".\n# holdfast validate checks it; docs/inventory.md explains it.\n\n")
	fmt.Fprintf(&b, "site %s {\n", quote(s.Name))
	if len(pools) == 0 {
		b.WriteString(exampleSSH)
	}
	writeConnection(&b, shared, s.SSHConfig)
	b.WriteString("}\n")
	if len(pools) == 0 {
		b.WriteString(exampleHosts)
	}
	for _, c := range s.Clusters {
		writeCluster(&b, c)
	}
	for i, p := range pools {
		writePool(&b, p, i == 0 && s.Found == nil)
	}
	writeNodes(&b, pools)
	if len(s.Clusters) == 0 {
		b.WriteString(exampleEtcd)
	}
	return string(hclwrite.Format([]byte(b.String())))
}

func writePool(b *strings.Builder, p *pool, first bool) {
	fmt.Fprintf(b, "\npool %s {\n", quote(p.name))
	writeConnection(b, p.connection, "")
	if first {
		b.WriteString("  # Without an OS and configurations, holdfast changes nothing on its hosts.\n" + exampleOS)
	}
	writeOS(b, p)
	b.WriteString("}\n")
	for _, h := range foldHosts(p.hosts) {
		if h.host.found.Unreachable != "" {
			writeSilent(b, h, p.name)
			continue
		}
		writeBlock(b, h, p.name)
	}
}

func writeBlock(b *strings.Builder, h block, pool string) {
	b.WriteString("\n")
	if len(h.host.Others) > 0 {
		fmt.Fprintf(b, "# also in %s\n", oneLine(strings.Join(h.host.Others, ", ")))
	}
	if h.ids == "" {
		fmt.Fprintf(b, "host %s {\naddress = %s\n", quote(h.host.Name), quote(h.host.Address))
	} else {
		texts := make([]string, len(h.address))
		for i, t := range h.address {
			texts[i] = strings.TrimSuffix(strings.TrimPrefix(quote(t), `"`), `"`)
		}
		label, name := h.name.label()
		fmt.Fprintf(b, "hosts %s {\nrange = %s\n", quote(label), quote(h.ids))
		if name != "" {
			fmt.Fprintf(b, "name = \"%s\"\n", name) // names have no characters that need quotes
		}
		fmt.Fprintf(b, "address = \"%s\"\n", strings.Join(texts, "${id}"))
	}
	fmt.Fprintf(b, "pool = %s\n", quote(pool))
	if c := h.host.found.Cluster; c != "" {
		fmt.Fprintf(b, "etcd_cluster = %s\n", quote(c))
	}
	if why := h.host.found.EtcdProblem; why != "" {
		fmt.Fprintf(b, "# etcd runs here: %s.\n# etcd_cluster = \"NAME\"\n", hostText(why))
	}
	writeConnection(b, h.host.Connection, "")
	b.WriteString("}\n")
}

// writeConnection writes an ssh block, or nothing without settings.
func writeConnection(b *strings.Builder, c Connection, sshConfig string) {
	if c == (Connection{}) && sshConfig == "" {
		return
	}
	b.WriteString("ssh {\n")
	for _, f := range fields {
		v := *f.of(&c)
		switch {
		case v == "":
		case f.name == "port":
			fmt.Fprintf(b, "port = %s\n", v)
		default:
			fmt.Fprintf(b, "%s = %s\n", f.name, quote(v))
		}
	}
	if sshConfig != "" {
		fmt.Fprintf(b, "ssh_config = %s\n", quote(sshConfig))
	}
	b.WriteString("}\n")
}

func quote(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

// oneLine returns a text that may follow a # in a file.
func oneLine(s string) string { return strings.Join(strings.Fields(textutil.Printable(s)), " ") }

// longestText bounds a text of a host in an inventory and in a remark, in bytes.
const longestText = 300

// hostText returns a text of a host as oneLine does, and shortens it: one host must not fill the inventory of all.
func hostText(s string) string {
	return textutil.CutText(oneLine(s), longestText)
}
