package textutil_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"holdfast/engine/textutil"
)

const secret = `S3cr3t/Token <ABC>&'"DEF+GHI`

// TestSecretsInAnyForm checks that a value is hidden in all forms in which programs print it.
func TestSecretsInAnyForm(t *testing.T) {
	marshaled, _ := json.Marshal(secret)
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + secret))
	for name, text := range map[string]string{
		"plain": secret, "sh": "'" + strings.ReplaceAll(secret, "'", `'\''`) + "'", "go": strconv.Quote(secret), "json": string(marshaled),
		"json with slashes": strings.ReplaceAll(string(marshaled), "/", `\/`), "query": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"lower": strings.NewReplacer("%2F", "%2f", "%3C", "%3c", "%3E", "%3e", "%2B", "%2b").Replace(url.QueryEscape(secret)),
		"html":  html.EscapeString(secret), "xml": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(secret),
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "url base64": base64.URLEncoding.EncodeToString([]byte(secret)),
		"raw base64": base64.RawURLEncoding.EncodeToString([]byte(secret)), "hex": hex.EncodeToString([]byte(secret)),
		"basic auth": basic, "one before": base64.StdEncoding.EncodeToString([]byte("a" + secret + "b")), "two before": base64.StdEncoding.EncodeToString([]byte("ab" + secret + "cd")),
	} {
		got := textutil.NewSecrets([]string{secret}).Hide("x " + text + " y")
		shown := strings.ReplaceAll(got, textutil.Hidden, "")
		if !strings.Contains(got, textutil.Hidden) || len(shown) > 16 {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestSecretsBeforeCuts checks that no cut of a text shows a part of a value, wherever it falls.
func TestSecretsBeforeCuts(t *testing.T) {
	s := textutil.NewSecrets([]string{secret})
	whole := strings.Repeat(".", 30) + secret + strings.Repeat(".", 30)
	for n := range len(whole) {
		for name, got := range map[string]string{"tail": s.KeepTail(whole, n), "output": s.HideOutput(whole[:n], true)} {
			for _, part := range []string{"S3cr", "Token", "GHI", "DEF", "ABC", "Hi"} {
				if strings.Contains(got, part) {
					t.Errorf("%s of %d: %s", name, n, got)
				}
			}
		}
	}
	if got := s.HideOutput("all S", false); got != "all S" {
		t.Errorf("a text that was not cut: %q", got)
	}
}

// TestURLPasswords checks that a password in a URL is hidden, and that columns stay.
func TestURLPasswords(t *testing.T) {
	for text, want := range map[string]string{
		`url = "https://ann:s3cret@host/x"`: `url = "https://ann:******@host/x"`,
		"http://:pw@h and http://a:bc@h":    "http://:**@h and http://a:**@h",
		"http://host:80/a@b":                "http://host:80/a@b",
		"http://ann@host":                   "http://ann@host",
		"a: b@c":                            "a: b@c",
	} {
		if got := textutil.HideURLPasswords(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
