package pki

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"holdfast/engine/etcd/carotation"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/hostscript"
)

// Roles are the uses of the certificates of a host, in order.
var Roles = []etcdfacts.CertificateRole{etcdfacts.ServerCertificate, etcdfacts.PeerCertificate, etcdfacts.ClientCertificate}

// clientUser is the etcd user of holdfast. With etcd's authentication, root may do everything.
const clientUser = "root"

// RequestScript returns the script that makes new keys on a host and prints a certificate request for each. The keys stay
// in a folder that only root can enter, until PlaceScript runs. Without openssl, it exits with hostscript.ScriptCannot.
func (p Place) RequestScript(host Subject) (string, error) {
	names := map[etcdfacts.CertificateRole]string{}
	for _, role := range Roles {
		profile := NewProfile(host, role)
		list := make([]string, len(profile.Names))
		for i, name := range profile.Names {
			list[i] = "DNS:" + name
			if net.ParseIP(name) != nil {
				list[i] = "IP:" + name
			}
		}
		for _, text := range append(list, profile.CommonName) {
			if text == "" || strings.ContainsAny(text, "\n\r,;$\\#\"'= \t") {
				return "", fmt.Errorf("certificates cannot have the name %q", text)
			}
		}
		names[role] = strings.Join(list, ",")
	}
	return p.script(requestScript, [][2]string{
		{"subject", host.Name},
		{"user", clientUser},
		{"serverNames", names[etcdfacts.ServerCertificate]},
		{"peerNames", names[etcdfacts.PeerCertificate]},
		{"missing", strconv.Itoa(hostscript.ScriptCannot)},
	}), nil
}

// ReadRequests returns the requests that a host has printed, by role, in PEM.
func ReadRequests(output string) (map[etcdfacts.CertificateRole][]byte, error) {
	requests := map[etcdfacts.CertificateRole][]byte{}
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] != "request" {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(fields[2])
		if err != nil {
			return nil, errors.New("the host printed no certificate request")
		}
		requests[etcdfacts.CertificateRole(fields[1])] = text
	}
	for _, role := range Roles {
		if requests[role] == nil {
			return nil, fmt.Errorf("the host printed no request for a %s certificate", role)
		}
	}
	return requests, nil
}

// PlaceScript returns the script that puts certificates for the keys of the last request in place, and the file of trusted
// CAs.
func (p Place) PlaceScript(issued map[etcdfacts.CertificateRole][]byte, trusted Bundle) string {
	values := trusted.values()
	for _, role := range Roles {
		values = append(values, [2]string{string(role), base64.StdEncoding.EncodeToString(issued[role])})
	}
	return p.script(finishScript+placeScript, values)
}

// TrustScript returns the script that puts a file of trusted CAs in place and restarts etcd.
func (p Place) TrustScript(trusted Bundle) string {
	return p.script(finishScript+trustScript, trusted.values())
}

// ProbeScript returns the script that prints the certificates on a host.
func (p Place) ProbeScript() string { return p.script(probeScript, nil) }

// Bundle has the CAs for the file of trusted CAs.
type Bundle struct {
	PEM []byte
	IDs []carotation.CA // sorted
}

func (b Bundle) values() [][2]string {
	var ids []string
	for _, id := range b.IDs {
		ids = append(ids, string(id))
	}
	return [][2]string{{"ca", base64.StdEncoding.EncodeToString(b.PEM)}, {"cas", strings.Join(ids, ",")}}
}
