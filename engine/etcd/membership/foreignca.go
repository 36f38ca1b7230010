package membership

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/etcd/carotation"
	"holdfast/engine/textutil"
)

// checkSpread refuses to let a host trust a new CA that is not in the inventory, because root on another host may have put this CA
// into its own files. Replacing the CA never needs that: before a member presents certificates of an issuer, all others already
// trust this issuer. A host without a member, or without usable certificates, may also get CAs that all members trust.
func (d decision) checkSpread(h Host, cas []carotation.CA) error {
	judges := d.trustOfOthers(h.Name)
	member := d.hasMember(h) && h.HasData && h.Certificates.Problem == ""
	for _, ca := range cas {
		wanted := ca == d.CA || slices.Contains(d.AlsoTrusted, ca)
		vouched := !member && !slices.ContainsFunc(judges, func(j carotation.HostTrust) bool { return !slices.Contains(j.File, ca) })
		if wanted || vouched || slices.Contains(h.Certificates.File, ca) {
			continue
		}
		source := h
		if i := slices.IndexFunc(judges, func(j carotation.HostTrust) bool { return slices.Contains(j.Issuers, ca) }); i >= 0 {
			source, _ = d.findHost(judges[i].Host)
		}
		r := d.refuseHost(source, fmt.Sprintf("etcd on host %s uses certificates of the CA %s, which host %s would have to trust, and which is not in the inventory; "+
			"if it is yours, name it in also_trust; otherwise somebody else may be root on %s: retire the host, or move the folder of its certificates away",
			source.Name, d.describeCA(ca), h.Name, source.Name))
		r.Kind = UnknownCA
		return r
	}
	return nil
}

// describeCA returns the subject and the fingerprint of a CA. A host may have written the subject.
func (s State) describeCA(ca carotation.CA) string {
	return fmt.Sprintf(`"%s" (SHA-256 %s)`, textutil.Printable(textutil.Secrets{}.KeepTail(s.CANames[ca], maxSubject)), ca)
}

// maxSubject limits the subject of a CA in a message, in bytes.
const maxSubject = 200

// describeNew returns the CAs of a list that are not in another one, each once.
func (s State) describeNew(list, known []carotation.CA) string {
	var names []string
	for _, ca := range slices.Compact(slices.Sorted(slices.Values(list))) {
		if !slices.Contains(known, ca) {
			names = append(names, s.describeCA(ca))
		}
	}
	return strings.Join(names, " and ")
}

// removeIntruder returns the removal of an unwanted member, instead of the refusal of a CA that its host may have brought.
func (d decision) removeIntruder(refusal error) (MemberStep, error) {
	if missing, err := d.nextMissing(); err != nil || missing.Action != Done {
		return MemberStep{}, refusal
	}
	if step, err := d.nextLeaving(); err == nil && step.Action != Done {
		return step, nil
	}
	return MemberStep{}, refusal
}
