package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
)

// The extensions that a request may have, in one attribute (RFC 2986): subjectAltName and extKeyUsage (RFC 5280).
var (
	oidNames            = asn1.ObjectIdentifier{2, 5, 29, 17}
	oidUsages           = asn1.ObjectIdentifier{2, 5, 29, 37}
	oidExtensionRequest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 14}
)

// oidProxy lets a certificate issue others (RFC 3820).
var oidProxy = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 14}

// The kinds of names that certificates of etcd have: tags of GeneralName (RFC 5280).
const (
	tagDNS     = 2
	tagAddress = 7
)

// purposeIDs are the uses of the profiles.
var purposeIDs = map[x509.ExtKeyUsage]asn1.ObjectIdentifier{
	x509.ExtKeyUsageServerAuth: {1, 3, 6, 1, 5, 5, 7, 3, 1},
	x509.ExtKeyUsageClientAuth: {1, 3, 6, 1, 5, 5, 7, 3, 2},
}

// checkAttributes refuses a request with attributes other than one for extensions. Go's parser ignores such attributes,
// but a command that signs requests may use them.
func checkAttributes(request *x509.CertificateRequest) error {
	var body struct {
		Raw        asn1.RawContent
		Version    int
		Subject    asn1.RawValue
		Key        asn1.RawValue
		Attributes []asn1.RawValue `asn1:"tag:0"`
	}
	if rest, err := asn1.Unmarshal(request.RawTBSCertificateRequest, &body); err != nil || len(rest) > 0 {
		return errors.New("the host printed a certificate request that cannot be read")
	}
	var attribute struct {
		ID     asn1.ObjectIdentifier
		Values []asn1.RawValue `asn1:"set"`
	}
	if len(body.Attributes) == 1 {
		rest, err := asn1.Unmarshal(body.Attributes[0].FullBytes, &attribute)
		if err == nil && len(rest) == 0 && attribute.ID.Equal(oidExtensionRequest) && len(attribute.Values) == 1 {
			return nil
		}
	}
	return errors.New("the host asks for a certificate with other attributes than one for extensions")
}

// checkExtensions refuses names of other kinds than DNS names and IP addresses, which Go's parser ignores, and uses other
// than those of the profile.
func (p Profile) checkExtensions(list []pkix.Extension) error {
	used := false
	for _, extension := range list {
		switch {
		case extension.Id.Equal(oidNames):
			if !hasOnlyNames(extension.Value) {
				return errors.New("with names that are neither DNS names nor IP addresses")
			}
		case extension.Id.Equal(oidUsages):
			if used = p.hasUsages(extension.Value); !used {
				return fmt.Errorf("for other uses than those of a %s certificate", p.Role)
			}
		}
	}
	if !used {
		return fmt.Errorf("without the uses of a %s certificate", p.Role)
	}
	return nil
}

// hasOnlyNames reports whether a subjectAltName has only DNS names and IP addresses.
func hasOnlyNames(value []byte) bool {
	var names []asn1.RawValue
	rest, err := asn1.Unmarshal(value, &names)
	return err == nil && len(rest) == 0 && !slices.ContainsFunc(names, func(name asn1.RawValue) bool {
		return name.Class != asn1.ClassContextSpecific || name.Tag != tagDNS && name.Tag != tagAddress
	})
}

// hasUsages reports whether an extKeyUsage has the uses of the profile, each once, in any order.
func (p Profile) hasUsages(value []byte) bool {
	var found []asn1.ObjectIdentifier
	if rest, err := asn1.Unmarshal(value, &found); err != nil || len(rest) > 0 || len(found) != len(p.usages()) {
		return false
	}
	return !slices.ContainsFunc(p.usages(), func(usage x509.ExtKeyUsage) bool { return !slices.ContainsFunc(found, purposeIDs[usage].Equal) })
}

// checkPowers refuses a certificate that can issue others, or that allows other uses than the profile.
func (p Profile) checkPowers(cert *x509.Certificate) error {
	switch {
	case cert.IsCA:
		return errors.New("the issued certificate is one of a CA")
	case cert.KeyUsage&(x509.KeyUsageCertSign|x509.KeyUsageCRLSign) != 0:
		return errors.New("the issued certificate may sign certificates or revocations")
	case slices.ContainsFunc(cert.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(oidProxy) }):
		return errors.New("the issued certificate may issue proxy certificates")
	}
	if err := p.checkExtensions(cert.Extensions); err != nil {
		return fmt.Errorf("the issued certificate is %w", err)
	}
	return nil
}

// isNamed reports whether the subject has exactly one common name, the name of the profile.
func (p Profile) isNamed(subject pkix.Name) bool {
	named := 0
	for _, attribute := range subject.Names {
		if attribute.Type.Equal(asn1.ObjectIdentifier{2, 5, 4, 3}) {
			named++
		}
	}
	return named == 1 && subject.CommonName == p.CommonName
}
