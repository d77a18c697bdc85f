package main

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strconv"

	"golang.org/x/image/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// svgText is a text as package vgsvg writes it, up to its end.
var svgText = regexp.MustCompile(
	`<text ([^>]*)font-family:Liberation Sans;([^>]*font-weight:(\w+);[^>]*font-size:([\d.]+)px[^>]*)>([^<]*)<`)

// markup gives the picture as SVG that looks the same where the font is not installed: with others to choose from, and
// with the width of each text, to which a browser fits what it has. To embed the font would take a megabyte.
func markup(canvas *vgsvg.Canvas) ([]byte, error) {
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return nil, err
	}
	return svgText.ReplaceAllFunc(svg.Bytes(), func(text []byte) []byte {
		parts := svgText.FindSubmatch(text)
		size, err := strconv.ParseFloat(string(parts[4]), 64)
		if err != nil {
			return text
		}
		weight := font.WeightNormal
		if string(parts[3]) == "bold" {
			weight = font.WeightBold
		}
		width := styled(vg.Length(size), weight, textColor).Width(html.UnescapeString(string(parts[5])))
		return fmt.Appendf(nil, `<text xml:space="preserve" textLength="%.2f" lengthAdjust="spacingAndGlyphs" `+
			`%sfont-family:Liberation Sans,Arial,Helvetica,sans-serif;%s>%s<`, width, parts[1], parts[2], parts[5])
	}), nil
}
