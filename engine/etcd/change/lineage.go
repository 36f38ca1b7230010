package change

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/privatefile"
	"holdfast/engine/textutil"
)

// lineage describes the clusters that earlier restores have replaced. A restore makes a cluster whose members have
// other IDs, so without a record nobody knows that an older snapshot is of the same cluster. The hosts record the
// lineage, and so does the bastion, beside its snapshots, because one of the two may be lost.
type lineage struct {
	members  []string // IDs of members, the oldest first
	revision int64    // highest revision with which a restore has begun; 0: none
}

// maxLineage limits the members of a lineage. The oldest ones are forgotten first.
const maxLineage = 200

// maxLineageFile limits the bytes that are read from the file of a lineage.
const maxLineageFile = 64 << 10

// addWords adds the words of a line, and reports whether the line is of a lineage.
func (l *lineage) addWords(words []string) bool {
	if len(words) != 2 {
		return false
	}
	switch words[0] {
	case "member":
		if _, err := strconv.ParseUint(words[1], 16, 64); err == nil && !slices.Contains(l.members, words[1]) {
			l.members = append(l.members, words[1])
			l.members = l.members[max(0, len(l.members)-maxLineage):]
		}
	case "revision":
		if n, err := strconv.ParseInt(words[1], 10, 64); err == nil && n <= maxRecordedRevision {
			l.revision = max(l.revision, n)
		}
	default:
		return false
	}
	return true
}

// maxRecordedRevision bounds the revisions that a host can make a restore exceed.
const maxRecordedRevision = 1 << 59

// String returns the lines of a record.
func (l lineage) String() string {
	var b strings.Builder
	for _, id := range l.members {
		b.WriteString("member " + id + "\n")
	}
	if l.revision > 0 {
		fmt.Fprintf(&b, "revision %d\n", l.revision)
	}
	return b.String()
}

// addText adds the lines of a record. An unknown line is an error, because the line would be lost when the record
// is written again.
func (l *lineage) addText(text string) error {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 && !l.addWords(words) {
			return errors.New("it has " + describeUnknownLine(line))
		}
	}
	return nil
}

// describeUnknownLine describes a line of a record that a later version of holdfast has written.
func describeUnknownLine(line string) string {
	return fmt.Sprintf("the line %q, which this version of holdfast does not know; use the version that wrote it, or a later one", textutil.CutText(textutil.FirstLine(line), 100))
}

// readLineage adds the record of the bastion. Without a file, there was no restore from this bastion.
func (r *Restore) readLineage() error {
	if r.LineagePath == "" || r.lineageRead {
		return nil
	}
	info, err := os.Lstat(r.LineagePath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.lineageRead = true
		return nil
	case err == nil && (!info.Mode().IsRegular() || info.Size() > maxLineageFile):
		err = errors.New("it is not a file of holdfast; move it away")
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(r.LineagePath)
	}
	if err == nil {
		err = r.lineage.addText(string(text))
	}
	if err != nil {
		return fmt.Errorf("read the record of earlier restores %s: %w", r.LineagePath, err)
	}
	r.lineageRead = true
	return nil
}

func (r *Restore) writeLineage() error {
	if r.LineagePath == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(r.LineagePath), 0o700)
	if err == nil {
		err = privatefile.Write(r.LineagePath, []byte(r.lineage.String()))
	}
	if err != nil {
		return fmt.Errorf("record the restore beside the snapshots: %w", err)
	}
	return nil
}

// addLineage adds the records of all hosts and of the bastion to a state.
func (r *Restore) addLineage(s *restore.State) error {
	if err := r.readLineage(); err != nil {
		return err
	}
	if err := r.lineage.addText(r.Run.replaced.lineage.String()); err != nil {
		return err
	}
	s.Ancestors, s.Restored = r.lineage.members, r.lineage.revision
	for _, saved := range r.Saved {
		for _, m := range saved.Members {
			s.Known = append(s.Known, membership.Member{ID: m.ID, Name: m.Name})
		}
	}
	return nil
}

// noteLineage adds the members of the source and of the clusters that the new cluster replaces, and the revision at which it
// begins.
func (r *Restore) noteLineage(kin []string, revision int64) error {
	for _, id := range kin {
		r.lineage.addWords([]string{"member", id})
	}
	r.lineage.revision = max(r.lineage.revision, revision)
	return r.writeLineage()
}
