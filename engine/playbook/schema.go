package playbook

import (
	"bytes"
	"encoding/json"
	"strings"
)

// dict is a JSON object. Its keys are written in alphabetical order.
type dict = map[string]any

// Schema is the JSON Schema (draft 2020-12) of playbooks, for editors. It is as
// strict as Load about keys and the shape of values, and leaves to it what takes
// an inventory, a variable or a second look: what the schema refuses, Load
// refuses.
func Schema() []byte {
	defs := dict{
		"play": play(), "text": dict{"type": "string", "pattern": `\S`},
		"tag":      dict{"type": "string", "pattern": tagPattern, "not": dict{"enum": []string{allTags, tagged, untagged}}},
		"limit":    dict{"anyOf": []any{dict{"type": "integer", "minimum": 1, "maximum": maxHosts}, dict{"type": "string", "pattern": `^([1-9][0-9]?|100)%$`}}},
		"duration": dict{"type": "string", "pattern": durations, "examples": []string{"90s", "10m", "1h30m", "4d"}},
		"nothing":  dict{"anyOf": []any{dict{"type": "null"}, dict{"type": "object", "maxProperties": 0}}},
	}
	for _, list := range []string{preTasks, mainTasks, postTasks} {
		defs[list] = task(list)
		for _, m := range modules() {
			if m.may(list) && m.build != nil {
				defs[list+"_"+m.name] = moduleSchema(m, list)
			}
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(dict{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "holdfast playbook", "type": "array", "minItems": 1, "items": ref("play"), "$defs": defs,
	})
	if err != nil {
		panic(err) // maps of texts and numbers can be written
	}
	return b.Bytes()
}

func ref(name string) dict { return dict{"$ref": "#/$defs/" + name} }

func oneOrMore(x any) dict {
	return dict{"anyOf": []any{x, dict{"type": "array", "minItems": 1, "items": x}}}
}

func play() dict { return object(playFields()) }

// object is a mapping that may have only those fields.
func object(fields []field) dict {
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

// fieldSchema is what a value of a field may be.
func fieldSchema(f field) dict {
	switch f.kind {
	case truth:
		return dict{"type": "boolean"}
	case number:
		return dict{"type": "integer", "minimum": f.least, "maximum": f.most}
	case choice:
		return dict{"enum": f.choices}
	case span:
		return ref("duration")
	case hosts:
		return oneOrMore(ref("text"))
	case limits:
		return oneOrMore(ref("limit"))
	case tagList:
		return oneOrMore(ref("tag"))
	case condition:
		return oneOrMore(dict{"type": []string{"string", "boolean"}, "pattern": `\S`, "maxLength": maxCondition})
	case scalars:
		return dict{
			"type": "object", "propertyNames": dict{"pattern": namePattern},
			"additionalProperties": dict{"type": []string{"string", "number", "boolean", "null"}},
		}
	case taskList:
		return dict{"type": "array", "minItems": 1, "items": ref(f.name)}
	}
	return ref("text")
}

// task is a task in one of the lists of a play.
func task(list string) dict {
	o := object(taskFields())
	properties := o["properties"].(dict)
	var one, bare []any
	for _, m := range modules() {
		if !m.may(list) {
			continue
		}
		p := ref("nothing")
		if m.build != nil {
			p = ref(list + "_" + m.name)
		} else {
			bare = append(bare, m.name)
		}
		p["description"] = strings.ReplaceAll(m.meaning, "`", "")
		properties[m.name] = p
		one = append(one, dict{"required": []string{m.name}})
	}
	o["oneOf"] = one
	o["dependentRequired"] = dict{"delegate_to": []string{"command"}}
	if bare == nil {
		return o
	}
	return dict{"anyOf": []any{dict{"enum": bare}, o}}
}

func moduleSchema(m module, list string) dict {
	o := object(m.fieldsIn(list))
	if m.oneOf != nil {
		var one []any
		for _, name := range m.oneOf {
			one = append(one, dict{"required": []string{name}})
		}
		o["oneOf"] = one
	}
	if m.short != "" {
		return dict{"anyOf": []any{ref("text"), o}}
	}
	return o
}
