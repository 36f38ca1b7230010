package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"holdfast/engine/resource"
)

// Script is a POSIX shell script for a host. Its parts follow one another. Most
// of a script is the same on all hosts, so a plan has each of these texts once.
type Script []ScriptPart

// ScriptPart is a part of a script. Exactly one field is set.
type ScriptPart struct {
	Values string      `json:"values,omitempty"` // lines with the values of the host
	Text   *SharedText `json:"text,omitempty"`   // digest of a text that is the same on all hosts
	Job    Script      `json:"job,omitempty"`    // script that becomes the value of the variable job

	Boot resource.BootID `json:"boot,omitempty"` // boot that becomes the value of the variable boot
}

// ScriptText is a script text that is built into holdfast, the same for all hosts.
// It contains no value of a host and no secret, so it is shown unchanged.
type ScriptText string

// TextDigest is the SHA-256 digest of a ScriptText, hexadecimal.
type TextDigest string

// DigestOf returns the digest of a text.
func DigestOf(text ScriptText) TextDigest {
	sum := sha256.Sum256([]byte(text))
	return TextDigest(hex.EncodeToString(sum[:]))
}

// SharedText is a ScriptText with its digest. Its JSON is the digest, and the plan
// around it has the text.
type SharedText struct {
	digest TextDigest
	text   ScriptText
}

// ShareText returns a text that is built into holdfast, with its digest. Packages
// call it once for each of their constants.
func ShareText(text string) *SharedText {
	return &SharedText{digest: DigestOf(ScriptText(text)), text: ScriptText(text)}
}

// MarshalText returns the digest of the text.
func (t *SharedText) MarshalText() ([]byte, error) { return []byte(t.digest), nil }

// UnmarshalText reads the digest. The text is missing until the plan is read.
func (t *SharedText) UnmarshalText(digest []byte) error {
	t.digest = TextDigest(digest)
	return nil
}

// NewScript returns a script of one part, whose text is not shared with other hosts.
func NewScript(text string) Script { return Script{{Values: text}} }

// JoinScripts returns a script with the parts of all. Values that follow each other
// become one part.
func JoinScripts(scripts ...Script) Script {
	most := 0
	for _, s := range scripts {
		most += len(s)
	}
	joined := make(Script, 0, most) // a plan has so many scripts that space for parts to come would be a tenth of its memory
	for _, s := range scripts {
		for _, p := range s {
			last := len(joined) - 1
			switch {
			case p.Values == "" && p.Text == nil && p.Job == nil && p.Boot == "":
			case last >= 0 && joined[last].Values != "" && p.Values != "":
				joined[last].Values += p.Values
			default:
				joined = append(joined, p)
			}
		}
	}
	return joined
}

// String returns the whole script, as it is sent to the host.
func (s Script) String() string {
	var b strings.Builder
	for _, p := range s {
		switch {
		case p.Text != nil:
			b.WriteString(string(p.Text.text))
		case p.Job != nil:
			b.WriteString("job='" + strings.ReplaceAll(p.Job.String(), "'", `'\''`) + "'\n")
		case p.Boot != "":
			b.WriteString("boot=" + string(p.Boot) + "\n") // a boot ID has only harmless characters: resource.ParseBootID
		default:
			b.WriteString(p.Values)
		}
	}
	return b.String()
}

// ScriptTexts has the texts of the scripts of a plan, by digest.
type ScriptTexts map[TextDigest]ScriptText

func (s Script) eachText(do func(**SharedText)) {
	for i := range s {
		if s[i].Text != nil {
			do(&s[i].Text)
		}
		s[i].Job.eachText(do)
	}
}

// eachScript calls do with every script of a step and of its undo.
func (s Step) eachScript(do func(Script)) {
	if s.Undo != nil {
		s.Undo.eachScript(do)
	}
	if x := s.Do.Exec; x != nil {
		do(x.Script)
		do(x.Abort)
	}
	if x := s.Do.ProveLogin; x != nil {
		do(x.Confirm)
		do(x.Undo)
	}
}

// addTexts adds the texts of the scripts of a step.
func (t ScriptTexts) addTexts(s Step) {
	s.eachScript(func(script Script) {
		script.eachText(func(shared **SharedText) { t[(*shared).digest] = (*shared).text })
	})
}

// putTexts puts the texts into the scripts of steps that were read. A text that
// does not have its digest, and a digest without a text, are errors: somebody has
// changed the plan.
func (t ScriptTexts) putTexts(steps map[string]Step) error {
	shared := make(map[TextDigest]*SharedText, len(t))
	for digest, text := range t {
		if DigestOf(text) != digest {
			return fmt.Errorf("the text of a script does not have its digest %s, so it was changed; plan again", digest)
		}
		shared[digest] = &SharedText{digest: digest, text: text}
	}
	var err error
	for _, s := range steps {
		s.eachScript(func(script Script) {
			script.eachText(func(text **SharedText) {
				known := shared[(*text).digest]
				if known == nil {
					err = fmt.Errorf("a script has the text with the digest %q, which the plan does not have; plan again", (*text).digest)
					return
				}
				*text = known
			})
		})
	}
	return err
}
