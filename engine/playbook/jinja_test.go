package playbook_test

import (
	"strings"
	"testing"

	"holdfast/engine/playbook"
)

// TestJinjaIsTold: an expression of Jinja that nobody replaces would run in the shell, where ~ is the home of root. A template
// of Go is for the program that gets it.
func TestJinjaIsTold(t *testing.T) {
	for text, jinja := range map[string]string{
		`rm -rf {{ base ~ '/cache' }}`:            `{{ base ~ '/cache' }}`,
		`{{ a + '/x' }}`:                          `{{ a + '/x' }}`,
		`{{ x if y else z }}`:                     `{{ x if y else z }}`,
		`{{ lookup('env','A') }}`:                 `{{ lookup('env','A') }}`,
		`{{ 'x' | upper }}`:                       `{{ 'x' | upper }}`,
		`{{ "x" | upper }}`:                       `{{ "x" | upper }}`,
		`a {% if a %}b{% endif %}`:                `{% if a %}`,
		`{%- for x in y %}{{ x }}`:                `{%- for x in y %}`,
		`{{ item }}`:                              `{{ item }}`,
		`{{item}}`:                                `{{item}}`,
		"{{\n  item\n}}":                          "{{\n  item\n}}",
		`{{ groups['a'] | length }}`:              `{{ groups['a'] | length }}`,
		`{{.A}}{{end}} {{- item.x -}}`:            `{{- item.x -}}`,
		`{{ not x }}`:                             `{{ not x }}`,
		`{{ 3 * 4 }}`:                             `{{ 3 * 4 }}`,
		`{{ [1] | first }}`:                       `{{ [1] | first }}`,
		`{{ (a) }}`:                               `{{ (a) }}`,
		`{{ "{{" }}.Names{{ "}}" }}`:              `{{ "{{" }}`,
		`{{ '{{' }}.Names`:                        `{{ '{{' }}`,
		`{{.Names}}`:                              "",
		`{{json .}}`:                              "",
		`{{ json . }}`:                            "",
		`{{range .Ports}}{{.}}{{end}}`:            "",
		`{{- range $i, $e := .Ports -}}x{{ end}}`: "",
		`{{if eq .A "x"}}a{{else if .B}}c{{else}}b{{end}}`: "",
		`{{index .A "x"}}{{"\t"}}{{printf "%s" .B}}`:       "",
		`{{ .A | upper }}`:     "",
		`{{ $x }}`:             "",
		`{{ toYaml .Values }}`: "",
		`{{/* a comment */}}`:  "",
		`awk '{{ print $1 }}'`: "",
		`{{(index (index .NetworkSettings.Ports "80/tcp") 0).HostPort}}`:   "",
		`{{range $p, $conf := .Ports}}{{(index $conf 0).HostPort}}{{end}}`: "",
		`{{ (.A) }}`:                        "",
		`{{ key "service/x" }}`:             "",
		`{{ include "x" . }}`:               "",
		`{{upper (index .A 0)}}`:            "",
		`{{if not .A}}a{{end}}`:             "",
		`{{if and .A (not .B)}}a{{end}}`:    "",
		`{{ not (a and b) }}`:               `{{ not (a and b) }}`,
		`{{ not "a" }}`:                     `{{ not "a" }}`,
		`{{ x if y == "z" else "w" }}`:      `{{ x if y == "z" else "w" }}`,
		`{{ x in "abc" }}`:                  `{{ x in "abc" }}`,
		`{{ x is defined }}`:                `{{ x is defined }}`,
		`{{ (x | int) + 1 }}`:               `{{ (x | int) + 1 }}`,
		`{{}}`:                              "",
		`printf '{%s:%d%}'`:                 "",
		`curl -w %{http_code}`:              "",
		`echo '{"a":{"b":{"c":1}}}'`:        "",
		`{{range (index .A 0).B}}{{ end }}`: "",
	} {
		start, end, found := playbook.FindJinja(text)
		switch {
		case found != (jinja != ""):
			t.Errorf("%s: Jinja: %t", text, found)
		case found && !strings.HasPrefix(text[start:end], jinja):
			t.Errorf("%s: found %s, not %s", text, text[start:end], jinja)
		}
	}
}
