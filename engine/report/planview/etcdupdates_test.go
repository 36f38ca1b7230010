package planview_test

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/termtext"
)

// TestEtcdUpdatesAndCertificates checks that a plan names the version of etcd
// in the staged OS, and the certificates that expire soon.
func TestEtcdUpdatesAndCertificates(t *testing.T) {
	p := engine.Plan{CertificateProblems: []etcdfacts.CertificateProblem{{Kind: etcdfacts.CertificateExpiring, Cluster: "main", Text: "the CA x expires in 9 days"}}}
	for _, host := range []string{"etcd-0", "etcd-1", "etcd-2"} {
		p.EtcdUpdates = append(p.EtcdUpdates, engine.EtcdUpdate{Host: host, Cluster: "main", From: "3.5.16", To: "3.6.4", ClusterVersion: "3.5.0", Kind: engine.EtcdSupported})
	}
	p.EtcdUpdates = append(p.EtcdUpdates, engine.EtcdUpdate{Host: "etcd-3", Cluster: "main", To: "3.6.4", ClusterVersion: "3.5.0", Kind: engine.EtcdSupported})
	var b strings.Builder
	if err := planview.Write(&b, p, termtext.Style{}, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"etcd-[0-2] (3 hosts): etcd 3.5.16 → 3.6.4, with the OS; cluster main is at 3.5.0\n",
		"etcd-3: etcd 3.6.4, with the OS; cluster main is at 3.5.0\n",
		"Warning: etcd cluster main: the CA x expires in 9 days\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
