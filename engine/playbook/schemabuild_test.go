package playbook

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"holdfast/engine"
)

// dict is a JSON object. The encoder writes its keys in alphabetical order.
type dict = map[string]any

// Schema returns the JSON Schema (draft 2020-12) of playbooks, for editors. It
// checks keys and the shape of values. It does not check anything that depends
// on an inventory, on variables or on other values. Load refuses everything
// that the schema refuses.
func Schema() []byte {
	defs := dict{
		"play": playSchema(), "text": dict{"type": "string", "pattern": `\S`},
		"tag":      dict{"type": "string", "pattern": tagPattern, "not": dict{"enum": []string{tagAll, tagTagged, tagUntagged}}},
		"limit":    dict{"anyOf": []any{dict{"type": "integer", "minimum": 1, "maximum": maxHosts}, dict{"type": "string", "pattern": `^([1-9][0-9]?|100)%$`}}},
		"duration": dict{"anyOf": []any{dict{"type": "integer", "minimum": 1, "maximum": maxSeconds}, dict{"type": "string", "pattern": durationPattern}}, "examples": []string{"90s", "10m", "1h30m", "4d"}},
		"nothing":  dict{"anyOf": []any{dict{"type": "null"}, dict{"type": "object", "maxProperties": 0}}},
	}
	for _, list := range []string{preTasks, mainTasks, postTasks} {
		defs[list] = taskSchema(list)
		for _, m := range allModules() {
			if m.isAllowedIn(list) && m.build != nil {
				defs[list+"_"+m.name] = moduleSchema(m, list)
			}
		}
	}
	defineWords(defs)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(dict{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "holdfast playbook", "type": "array", "minItems": 1, "items": schemaRef("play"), "$defs": defs,
	})
	if err != nil {
		panic(err) // cannot happen: maps of texts and numbers can be encoded
	}
	return b.Bytes()
}

func schemaRef(name string) dict { return dict{"$ref": "#/$defs/" + name} }

func oneOrListOf(x any) dict {
	return dict{"anyOf": []any{x, dict{"type": "array", "minItems": 1, "items": x}}}
}

func playSchema() dict {
	o := objectSchema(playFields())
	addWords(o["properties"].(dict), playWordsWithoutEffect())
	return o
}

// addWords adds words of Ansible that have no effect.
func addWords(properties dict, words map[string][]string) {
	for w, values := range words {
		if _, known := properties[w]; !known {
			properties[w] = schemaRef(withoutEffect(values))
		}
	}
}

func withoutEffect(values []string) string {
	return "without effect: " + strings.NewReplacer("/", "_").Replace(strings.Join(values, " or "))
}

func defineWords(defs dict) {
	tables := []map[string][]string{playWordsWithoutEffect(), taskWordsWithoutEffect()}
	for _, m := range allModules() {
		tables = append(tables, argumentsWithoutEffect(m.name))
	}
	for _, words := range tables {
		for _, values := range words {
			defs[withoutEffect(values)] = wordSchema(values)
		}
	}
}

func wordSchema(values []string) dict {
	x := []any{}
	for _, v := range values {
		switch v {
		case anyValue:
			return dict{}
		case "":
			x = append(x, dict{"type": "object", "maxProperties": 0}, dict{"type": "array", "maxItems": 0}, dict{"type": "null"}, dict{"enum": []string{""}})
		case "true", "false":
			x = append(x, dict{"enum": []any{v, v == "true"}})
		case "0":
			x = append(x, dict{"enum": []any{v, 0}})
		case usualReboot:
			x = append(x, dict{"type": "integer", "minimum": 1, "maximum": time.Duration(engine.Timeouts{}.WithDefaults().Reboot) / time.Second})
		case omitted:
			x = append(x, dict{"type": "string", "pattern": omits.String()})
		default:
			x = append(x, dict{"enum": []any{v, "ansible.builtin." + v, "ansible.legacy." + v}})
		}
	}
	return dict{"anyOf": x}
}

// translated matches keys of tasks that holdfast translates from Ansible, or drops. Editors do not check such tasks.
func translated() string {
	names := append([]string{"shell", "raw", "systemd", "systemd_service", "sysvinit"}, tasksWithoutEffect()...)
	return `^ansible\.(builtin|legacy)\.|^(` + strings.Join(names, "|") + ")$"
}

func objectSchema(fields []field) dict {
	properties, required := dict{}, []string{}
	for _, f := range fields {
		p := fieldSchema(f)
		p["description"] = strings.ReplaceAll(f.meaning, "`", "")
		properties[f.name] = p
		if f.required {
			required = append(required, f.name)
		}
	}
	o := dict{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

func fieldSchema(f field) dict {
	switch f.kind {
	case boolKind:
		return dict{"type": "boolean"}
	case numberKind:
		return dict{"type": "integer", "minimum": f.least, "maximum": f.most}
	case choiceKind:
		return dict{"enum": f.choices}
	case durationKind:
		return schemaRef("duration")
	case hostsKind:
		return oneOrListOf(schemaRef("text"))
	case countsKind:
		return oneOrListOf(schemaRef("limit"))
	case tagsKind:
		return oneOrListOf(schemaRef("tag"))
	case conditionKind:
		return oneOrListOf(dict{"type": []string{"string", "boolean"}, "pattern": `\S`, "maxLength": maxCondition})
	case variablesKind:
		return dict{
			"type": "object", "propertyNames": dict{"pattern": namePattern},
			"additionalProperties": dict{"type": []string{"string", "number", "boolean", "null"}},
		}
	case tasksKind:
		return dict{"type": "array", "minItems": 1, "items": schemaRef(f.name)}
	}
	return schemaRef("text")
}

func taskSchema(list string) dict {
	o := objectSchema(taskFields())
	properties := o["properties"].(dict)
	var one, bare []any
	for _, m := range allModules() {
		if !m.isAllowedIn(list) {
			continue
		}
		p := schemaRef("nothing")
		if words := argumentsWithoutEffect(m.name); m.build == nil && words != nil {
			o := dict{"type": "object", "additionalProperties": false, "properties": dict{}}
			addWords(o["properties"].(dict), words)
			if m.name == engine.RebootTask {
				o["properties"].(dict)["test_command"] = dict{"type": []string{"string", "boolean"}} // see splitTestCommand
			}
			p = dict{"anyOf": []any{dict{"type": "null"}, o}}
			bare = append(bare, m.name)
		} else if m.build != nil {
			p = schemaRef(list + "_" + m.name)
		} else {
			bare = append(bare, m.name)
		}
		p["description"] = strings.ReplaceAll(m.meaning, "`", "")
		properties[m.name] = p
		one = append(one, dict{"required": []string{m.name}})
	}
	o["oneOf"] = one
	o["dependentRequired"] = dict{"delegate_to": []string{"command"}}
	addWords(properties, taskWordsWithoutEffect())
	ansible := dict{"type": "object", "not": dict{"propertyNames": dict{"not": dict{"pattern": translated()}}}}
	forms := []any{o, ansible, dict{"type": "string", "pattern": translated()}}
	if bare != nil {
		forms = append(forms, dict{"enum": bare})
	}
	return dict{"anyOf": forms}
}

func moduleSchema(m module, list string) dict {
	o := objectSchema(m.argumentsIn(list))
	addWords(o["properties"].(dict), argumentsWithoutEffect(m.name))
	if m.oneOf != nil {
		var one []any
		for _, name := range m.oneOf {
			one = append(one, dict{"required": []string{name}})
		}
		o["oneOf"] = one
	}
	if m.mainArgument != "" {
		return dict{"anyOf": []any{schemaRef("text"), o}}
	}
	return o
}
