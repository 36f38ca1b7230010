package inventory

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// powerReader reads the blocks bmc and power.
type powerReader struct{ *builder }

// powerSettings are the bmc block or the power block of a pool or a host.
type powerSettings struct {
	bmc      *engine.BMC
	commands *engine.PowerCommands
	at       hcl.Range // of the block
	wrong    []string  // arguments of the block, and of the outer one, that have an error
}

// readPower reads the bmc block or the power block of a host or pool. Without one, the settings of the outer block apply.
func (b powerReader) readPower(n *node, id string, outer powerSettings) powerSettings {
	bmc, commands := n.childBlock("bmc"), n.childBlock("power")
	switch {
	case bmc != nil && commands != nil:
		b.addError(commands.at, "power beside bmc", "keep the block with which the power is to be switched, and remove the other")
		return powerSettings{}
	case bmc != nil:
		r := reader{scope: b.scope, node: bmc, id: id}
		settings := powerSettings{bmc: b.readBMC(r, outer.bmc), at: bmc.at, wrong: slices.Clone(outer.wrong)}
		for name := range bmc.args {
			if r.isWrong(name) {
				settings.wrong = append(settings.wrong, name)
			}
		}
		return settings
	case commands != nil:
		r := reader{scope: b.scope, node: commands, id: id}
		return powerSettings{commands: &engine.PowerCommands{On: r.readText("on"), Off: r.readText("off"), Status: r.readText("status")}, at: commands.at}
	}
	return outer
}

var systemRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (b powerReader) readBMC(r reader, outer *engine.BMC) *engine.BMC {
	c := engine.BMC{}
	if outer != nil {
		c = *outer
	}
	system, user := r.readText("system"), r.readText("user")
	if system != "" && !systemRule.MatchString(system) {
		b.addError(r.node.args["system"].Expr.Range(), fmt.Sprintf("%q is no ID of a system", system), "write only the last part of its address, such as 1 or System.Embedded.1")
	}
	if strings.Contains(user, ":") {
		b.addError(r.node.args["user"].Expr.Range(), "user has a colon", "correct the name of the account")
	}
	c.Address, c.System, c.User = cmp.Or(b.readBMCAddress(r), c.Address), cmp.Or(system, c.System), cmp.Or(user, c.User)
	ca, fingerprint := r.readFile("ca"), strings.ToLower(strings.ReplaceAll(r.readText("fingerprint"), ":", ""))
	file, command := r.readFile("password_file"), r.readText("password_command")
	switch {
	case ca != "" && fingerprint != "":
		b.addError(r.node.args["fingerprint"].NameRange, "the certificate of the BMC is checked in two ways", "remove ca or fingerprint")
	case fingerprint != "" && !fingerprintRule.MatchString(fingerprint):
		b.addError(r.node.args["fingerprint"].Expr.Range(), "fingerprint is no SHA-256", "write its 64 hexadecimal digits, as openssl x509 -noout -fingerprint -sha256 prints them")
	case ca != "" || fingerprint != "":
		c.CA, c.Fingerprint = ca, fingerprint
	}
	switch {
	case file != "" && command != "":
		b.addError(r.node.args["password_command"].NameRange, "the password of the BMC comes from two places", "remove password_file or password_command")
	case file != "" || command != "":
		c.PasswordFile, c.PasswordCommand = file, command
	}
	return &c
}

// readBMCAddress accepts a name or an IP address, with or without a port.
func (b powerReader) readBMCAddress(r reader) string {
	s := r.readText("address")
	host, port := s, ""
	if h, p, err := net.SplitHostPort(s); err == nil {
		host, port = h, p
	}
	number, err := strconv.Atoi(port)
	isPort := port == "" || err == nil && number > 0 && number < 1<<16
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if s == "" || isPort && (err == nil && ip.Zone() == "" || addressRule.MatchString(host) && !looksLikeIPv4(host)) {
		return s
	}
	b.addError(r.node.args["address"].Expr.Range(), fmt.Sprintf("%q is not a valid address of a BMC", s), "write only a name or an IP address, and a port if it is not 443; holdfast always uses https")
	return s
}

// setPower sets the power settings of a host, and checks that they are complete. It refuses two hosts with the same system: a
// command for one of them would switch the other one, too.
func (b powerReader) setPower(n *node, h *engine.Host, id string) {
	p := b.readPower(n, id, b.poolPower[h.Pool])
	h.BMC, h.Power = p.bmc, p.commands
	if h.BMC == nil {
		return
	}
	isWrong := func(name string) bool { return slices.Contains(p.wrong, name) }
	var missing []string
	for _, x := range []struct{ name, value string }{{"address", h.BMC.Address}, {"user", h.BMC.User}, {"password_file or password_command", h.BMC.PasswordFile + h.BMC.PasswordCommand}} {
		if x.value == "" && !slices.ContainsFunc(strings.Split(x.name, " or "), isWrong) {
			missing = append(missing, x.name)
		}
	}
	if len(missing) > 0 {
		b.addError(p.at, fmt.Sprintf("the bmc of %s has no %s", h.Name, strings.Join(missing, ", ")), "add it here, or in the bmc block of its pool")
		return
	}
	if !isWrong("address") && !isWrong("system") {
		b.checkSharedBMC(*h, p.at)
	}
}

// checkSharedBMC refuses two hosts that may have one system, because the power of the wrong one would be switched. A host without
// a system has the only one of its BMC.
func (b powerReader) checkSharedBMC(h engine.Host, at hcl.Range) {
	address := normalizeBMCAddress(h.BMC.Address)
	for _, other := range b.hostsByBMC[address] {
		if other.BMC.System == h.BMC.System || other.BMC.System == "" || h.BMC.System == "" {
			b.addError(at, fmt.Sprintf("%s has the BMC of %s", h.Name, other.Name), "two hosts with one system would be one machine; give each its own address or system, ${id} in a range")
			return
		}
	}
	b.hostsByBMC[address] = append(b.hostsByBMC[address], h)
}

// normalizeBMCAddress returns the one form of all addresses of the same BMC: without the port if it is 443, and an IP address in
// its shortest form.
func normalizeBMCAddress(s string) string {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.Trim(s, "[]"), "443"
	}
	host = textutil.NormalizeAddress(host)
	if port == "443" {
		return host
	}
	return net.JoinHostPort(host, port)
}

// checkResets refuses reset_after for a host without a bmc block, which nothing could reset.
func (b powerReader) checkResets() {
	for _, n := range b.root.childBlocks("pool") {
		p, ok := b.inv.Pool(n.label)
		if !ok || p.Reboot.ResetAfter == 0 {
			continue
		}
		for _, h := range b.inv.Hosts {
			if h.Pool == p.Name && h.BMC == nil {
				b.addError(n.childBlock("reboot").args["reset_after"].Expr.Range(), fmt.Sprintf("%s has no bmc block, so nothing can reset it", h.Name), "add one to it or to its pool, or remove reset_after")
				break
			}
		}
	}
}
