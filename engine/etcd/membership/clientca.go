package membership

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/etcd/carotation"
)

// keptCAs returns the CAs that all members trust, that the inventory does not want, and whose clients may need them. A
// CA that only some members trust does not belong to the cluster.
func (s State) keptCAs() []carotation.CA {
	files := s.filesOfCAs()
	if !s.KeepsOldCAs || len(files) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(files[0]), func(ca carotation.CA) bool {
		return ca == s.CA || slices.Contains(s.AlsoTrusted, ca) || slices.Contains(s.ClientsDone, ca) ||
			slices.ContainsFunc(files, func(file []carotation.CA) bool { return !slices.Contains(file, ca) })
	})
}

// filesOfCAs returns the CAs in the files of the members. If no member can use its certificates, as when all have expired, the files
// that can be read count: new certificates must not cut off the clients.
func (s State) filesOfCAs() [][]carotation.CA {
	var files [][]carotation.CA
	for _, h := range s.trustOfOthers("") {
		files = append(files, h.File)
	}
	if len(files) > 0 {
		return files
	}
	for _, h := range s.Hosts {
		if h.Unreachable == "" && s.hasMember(h) && len(h.Certificates.File) > 0 {
			files = append(files, h.Certificates.File)
		}
	}
	return files
}

// KeepOldCAs returns the state with the CAs that clients may need among those that members must trust, as the inventory names them: for a new
// cluster in place of this one, of which no member is known.
func (s State) KeepOldCAs() State {
	s.AlsoTrusted = slices.Concat(s.AlsoTrusted, s.keptCAs())
	s.Hosts, s.Members = nil, nil
	return s
}

// warnOfClients tells how a CA is dropped that clients may need.
func (s State) warnOfClients() []string {
	kept := s.keptCAs()
	if len(kept) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("etcd cluster %s: members still trust the CA %s, because clients may have certificates from it, and would be cut off without it. "+
		"Let all clients trust the new CA, and give them certificates from it; then write clients_done = [%s] in the block ca, and run holdfast etcd members apply %s",
		s.Cluster, s.describeNew(kept, nil), quoteCAs(kept), s.Cluster)}
}

func quoteCAs(list []carotation.CA) string {
	var texts []string
	for _, ca := range list {
		texts = append(texts, `"`+string(ca)+`"`)
	}
	return strings.Join(texts, ", ")
}
