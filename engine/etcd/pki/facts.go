package pki

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/etcd/carotation"
	"holdfast/engine/etcd/certificate"
	"holdfast/engine/etcdfacts"
)

// Facts are the results of the probe of a host.
type Facts struct {
	Files map[string][]byte // ca.crt, server.crt, peer.crt and client.crt, in PEM
	Whole bool              // all files, also the keys, are there and unchanged since they were put in place
	Uses  bool              // the settings of etcd name the folder

	unplaced bool // a run was interrupted before it noted the time of the file of trusted CAs

	boot    string
	started int64 // of etcd, in hundredths of a second since the boot; 0: it does not run
	history []trustedSince
}

// trustedSince has the CAs of one version of the file of trusted CAs, and its time.
type trustedSince struct {
	boot string
	time int64
	cas  []carotation.CA
}

// ReadFacts reads the output of the probe.
func ReadFacts(output string) Facts {
	f := Facts{Files: map[string][]byte{}}
	for line := range strings.Lines(output) {
		fields := append(strings.Fields(line), "", "", "", "")
		switch fields[0] {
		case "boot":
			f.boot = fields[1]
		case "started":
			f.started, _ = strconv.ParseInt(fields[1], 10, 64) // 0: as if etcd did not run
		case "uses":
			f.Uses = true
		case "unplaced":
			f.unplaced = true
		case "whole":
			f.Whole = true
		case "file":
			f.Files[fields[1]], _ = base64.StdEncoding.DecodeString(fields[2]) // a part is not a certificate
		case "trusted":
			at, err := strconv.ParseInt(fields[2], 10, 64)
			if err != nil {
				continue
			}
			t := trustedSince{boot: fields[1], time: at}
			for id := range strings.SplitSeq(fields[3], ",") {
				t.cas = append(t.cas, carotation.CA(id))
			}
			f.history = append(f.history, t)
		}
	}
	return f
}

// ID returns the identity of a CA.
func ID(ca *x509.Certificate) carotation.CA {
	sum := sha256.Sum256(ca.Raw)
	return carotation.CA(hex.EncodeToString(sum[:]))
}

// CAs returns the CAs in the file of the host, by ID.
func (f Facts) CAs() map[carotation.CA]*x509.Certificate {
	list := map[carotation.CA]*x509.Certificate{}
	for _, ca := range certificate.ParsePEM(f.Files["ca.crt"]) {
		list[ID(ca)] = ca
	}
	return list
}

// File returns the IDs of the CAs in the file of the host, sorted.
func (f Facts) File() []carotation.CA { return sortedIDs(f.CAs()) }

func sortedIDs(cas map[carotation.CA]*x509.Certificate) []carotation.CA {
	var list []carotation.CA
	for id := range cas {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// Loaded returns the CAs that the running etcd read when it started, or nothing if they are unknown. If etcd does not
// run, these are the CAs in the file.
func (f Facts) Loaded() []carotation.CA {
	if f.started == 0 {
		return f.File()
	}
	var loaded []carotation.CA
	for _, t := range f.history {
		if t.boot != f.boot || t.time < f.started {
			loaded = t.cas
		}
	}
	return loaded
}

// Judgement is the state of the certificates of a host.
type Judgement struct {
	Problem string // why etcd cannot use them; "": it can
	Due     string // why they must be renewed; "": they need not be
	Issuers []carotation.CA
}

// KnownCAs are the CAs that the inventory and the hosts have.
type KnownCAs struct {
	Goal carotation.CA // of the inventory
	ByID map[carotation.CA]*x509.Certificate
}

// Bundle returns the CAs with these IDs. All of them must be known.
func (k KnownCAs) Bundle(ids []carotation.CA) (Bundle, error) {
	b := Bundle{IDs: ids}
	for _, id := range ids {
		ca, known := k.ByID[id]
		if !known {
			return Bundle{}, fmt.Errorf("the CA %s is in no file any more", id)
		}
		b.PEM = append(b.PEM, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})...)
	}
	return b, nil
}

// List returns the CAs with these IDs that are known.
func (k KnownCAs) List(ids []carotation.CA) []*x509.Certificate {
	var list []*x509.Certificate
	for _, id := range ids {
		if ca, known := k.ByID[id]; known {
			list = append(list, ca)
		}
	}
	return list
}

// Judge judges the certificates of a host at a time.
func (f Facts) Judge(host Subject, known KnownCAs, now time.Time) Judgement {
	if len(f.Files) == 0 {
		return Judgement{Problem: "it has none"}
	}
	var j Judgement
	for _, role := range Roles {
		list := certificate.ParsePEM(f.Files[string(role)+".crt"])
		if len(list) == 0 {
			return Judgement{Problem: fmt.Sprintf("it has no %s certificate", role)}
		}
		leaf := list[0]
		issuer, found := known.issuerOf(list, now)
		if !found {
			return Judgement{Problem: fmt.Sprintf("its %s certificate is of a CA that is in no file of trusted CAs", role)}
		}
		if !slices.Contains(j.Issuers, issuer) {
			j.Issuers = append(j.Issuers, issuer)
		}
		described := certificate.Describe(leaf, role, host.Name, "")
		p := NewProfile(host, role)
		switch kind := described.ProblemKind(now); {
		case kind.Fails():
			j.Problem = cmp.Or(j.Problem, fmt.Sprintf("its %s certificate is valid from %s to %s only", role, dateOf(leaf.NotBefore), dateOf(leaf.NotAfter)))
		case kind != "":
			j.Due = cmp.Or(j.Due, fmt.Sprintf("its %s certificate expires on %s", role, dateOf(leaf.NotAfter)))
		case !p.hasNames(leaf.DNSNames, leaf.IPAddresses) || leaf.Subject.CommonName != p.CommonName:
			j.Due = cmp.Or(j.Due, fmt.Sprintf("its %s certificate is for other names", role))
		}
	}
	switch {
	case !f.Whole:
		j.Problem = "a file is missing or damaged"
	case f.unplaced:
		j.Due = cmp.Or(j.Due, "a run that ended early has put its certificates in place")
	}
	slices.Sort(j.Issuers)
	return j
}

// FirstEnd returns when the first of several certificates in PEM expires.
func FirstEnd(issued map[etcdfacts.CertificateRole][]byte) time.Time {
	var first time.Time
	for _, text := range issued {
		for _, cert := range certificate.ParsePEM(text) {
			if first.IsZero() || cert.NotAfter.Before(first) {
				first = cert.NotAfter
			}
		}
	}
	return first
}

func dateOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// issuerOf returns the known CA that signed a chain, preferably the CA of the inventory. The first certificate of the chain
// need not be valid now.
func (k KnownCAs) issuerOf(chain []*x509.Certificate, now time.Time) (carotation.CA, bool) {
	between := x509.NewCertPool()
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	at := earliestTime(latestTime(now, chain[0].NotBefore), chain[0].NotAfter)
	for _, id := range append([]carotation.CA{k.Goal}, sortedIDs(k.ByID)...) {
		ca, known := k.ByID[id]
		if !known {
			continue
		}
		roots := x509.NewCertPool()
		roots.AddCert(ca)
		_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		if err == nil {
			return id, true
		}
	}
	return "", false
}
