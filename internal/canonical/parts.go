package canonical

// parts reads a line that comes in parts. Only the fields that may change are kept, if they are not too large.
type parts struct {
	index   int    // of the field
	checked int    // the next of the columns that are checked
	field   []byte // of that column, as it is written
	large   bool   // it is too large to be read as its type
	begun   bool   // the field has a byte
	quoted  bool   // it is quoted
	open    bool   // the end of the quotes has not come
}

func (p *parts) reset() {
	field := p.field[:0]
	if cap(field) > keptSize {
		field = nil
	}
	*p = parts{field: field}
}

// Part takes the next part of a row, which EndLine completes.
func (a *Adder) Part(text []byte) {
	a.parts.text.Part(text)
	if a.types == nil || len(a.types.checked) == 0 {
		return
	}
	p := &a.parts.fields
	for len(text) > 0 {
		size, ends := p.scan(text)
		checked := p.checked < len(a.types.checked) && a.types.checked[p.checked].index == p.index
		if checked {
			a.keep(text[:size])
		} else {
			a.parts.canonical.Part(text[:size])
		}
		if !ends {
			return
		}
		if checked {
			a.endField()
			p.checked++
		}
		a.parts.canonical.Part(text[size : size+1])
		p.index++
		p.begun, p.quoted, p.open = false, false, false
		text = text[size+1:]
	}
}

// scan returns how much of a text belongs to the field, and whether the field ends there.
func (p *parts) scan(text []byte) (size int, ends bool) {
	for i, c := range text {
		switch {
		case c == '"':
			p.quoted = p.quoted || !p.begun
			if p.quoted {
				p.open = !p.open // twice, if it is a quote of the value
			}
		case !p.open && (c == ',' || c == '\n'):
			return i, true
		}
		p.begun = true
	}
	return len(text), false
}

// keep keeps a part of a field for its end.
func (a *Adder) keep(text []byte) {
	p := &a.parts.fields
	if p.large {
		a.parts.canonical.Part(text)
		return
	}
	p.field = append(p.field, text...)
	// Quotes around it, and each in it twice.
	if limit := 2*limitOf(a.types.checked[p.checked].logical) + 2; len(p.field) > limit {
		p.large = true
		a.parts.canonical.Part(p.field)
		p.field = p.field[:0]
	}
}

// endField passes on the field that was kept, in its canonical form.
func (a *Adder) endField() {
	p := &a.parts.fields
	if c := &a.types.checked[p.checked]; c.mayDiffer(p.field) {
		value := p.field
		value, a.field = unquoted(value, a.field)
		if text, differs := a.values.canonical(c.logical, value); differs {
			p.field = c.appendField(p.field[:0], text)
		}
	}
	a.parts.canonical.Part(p.field)
	p.field, p.large = p.field[:0], false
}

// EndLine adds the row whose parts were passed to Part.
func (a *Adder) EndLine() {
	a.parts.text.EndLine()
	sum := a.parts.text.Sum
	a.Text.Add(sum)
	if a.types != nil && len(a.types.checked) > 0 {
		a.parts.canonical.EndLine()
		sum = a.parts.canonical.Sum
	}
	a.Canonical.Add(sum)
	a.parts.text.Reset()
	a.parts.canonical.Reset()
	a.parts.fields.reset()
	a.shrink()
}
