package draft

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"holdfast/engine/textutil"
)

// writeOS writes the OS that the hosts of a pool run.
func writeOS(b *strings.Builder, p *pool) {
	if p.osProblem != "" {
		fmt.Fprintf(b, "# Its OS is not known: %s.\n", hostText(p.osProblem))
		b.WriteString(exampleOS)
		return
	}
	o := p.os
	if o.Driver == "" {
		return
	}
	b.WriteString("# The OS that its hosts run now.\nos {\n")
	for _, a := range []struct{ name, value string }{{"driver", o.Driver}, {"remote", o.Remote}, {"ref", o.Ref}, {"commit", o.Commit}, {"image", o.Image}} {
		if a.value == "" {
			continue
		}
		fmt.Fprintf(b, "%s = %s", a.name, quote(a.value))
		if (a.name == "commit" || a.name == "image") && o.Version != "" {
			b.WriteString(" # " + hostText(o.Version))
		}
		b.WriteString("\n")
	}
	if o.Remark != "" {
		fmt.Fprintf(b, "# %s\n", hostText(o.Remark))
	}
	b.WriteString("}\n")
}

// writeSilent writes the block of hosts that did not answer as a comment.
func writeSilent(b *strings.Builder, h block, pool string) {
	var text strings.Builder
	why := h.host.found.Unreachable
	h.host.found = Found{}
	writeBlock(&text, h, pool)
	fmt.Fprintf(b, "\n# No answer: %s\n", hostText(why))
	for line := range strings.Lines(strings.TrimSpace(string(hclwrite.Format([]byte(text.String()))))) {
		b.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
	}
}

// writeNodes writes which hosts are nodes of Kubernetes. Their cluster is known only from a kubeconfig.
func writeNodes(b *strings.Builder, pools []*pool) {
	var same, others []string
	for _, p := range pools {
		for _, h := range p.hosts {
			switch h.found.Node {
			case "":
			case h.Name:
				same = append(same, h.Name)
			default:
				others = append(others, h.Name+" (node "+hostText(h.found.Node)+")")
			}
		}
	}
	if len(same)+len(others) == 0 {
		return
	}
	b.WriteString("\n# A kubelet runs on these hosts. Name the kubeconfig of their cluster, and the cluster in their pools\n# or blocks: kubernetes = \"main\".\n#\n")
	for _, name := range append(textutil.FoldNames(same), others...) {
		b.WriteString("#   " + name + "\n")
	}
	b.WriteString("#\n# kubernetes \"main\" {\n#   kubeconfig = \"kubeconfig\" # on the bastion\n# }\n")
}
