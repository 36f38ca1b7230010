package tables

import (
	"fmt"
	"io"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/report/termtext"
)

func writeCertificates(w io.Writer, clusters []engine.ClusterStatus) error {
	rows := [][]string{{"CLUSTER", "CERTIFICATE", "HOST", "SUBJECT", "ISSUER", "EXPIRES", "DAYS LEFT"}}
	for _, c := range clusters {
		for _, cert := range c.Certificates {
			rows = append(rows, []string{
				c.Name, string(cert.Role), cert.Host, cert.Subject, cert.Issuer,
				cert.NotAfter.UTC().Format(timeLayout), daysLeft(cert.DaysLeft(c.Time)),
			})
		}
	}
	if len(rows) == 1 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return termtext.WriteTable(w, rows)
}

// daysLeft returns the number of days, or "expired": a negative number could differ from the one in the note, which counts whole days.
func daysLeft(days int) string {
	if days < 0 {
		return "expired"
	}
	return fmt.Sprint(days)
}

func certificateNotes(c etcdfacts.ClusterFacts, style termtext.Style) []string {
	var notes []string
	for _, p := range c.CertificateProblems {
		paint := style.Yellow
		if p.Kind.Fails() {
			paint = style.Red
		}
		notes = append(notes, paint("cluster "+c.Name+": "+p.Text))
	}
	return notes
}
