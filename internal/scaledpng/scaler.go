package scaledpng

import "image"

// scaler adds up pixels per target pixel, so that they may come in any order: interlaced pictures come
// in seven passes.
type scaler struct {
	width, height int // of the picture
	w, h          int // of the result
	sums          []uint32
}

func newScaler(width, height, side int) *scaler {
	s := &scaler{width: width, height: height, w: width, h: height}
	if long := max(width, height); long > side {
		s.w, s.h = max(1, width*side/long), max(1, height*side/long)
	}
	s.sums = make([]uint32, s.w*s.h*4)
	return s
}

// addPixel counts a pixel. A sum of 32 bits has room for 16 million pixels of 255; with [maxPixels] and a result of
// more than a thousand pixels no sum comes near that.
func (s *scaler) addPixel(x, y int, pixel [4]uint32) {
	sum := s.sums[(y*s.h/s.height*s.w+x*s.w/s.width)*4:][:4]
	for i := range sum {
		sum[i] += pixel[i]
	}
}

// picture divides the sums by the number of pixels in each.
func (s *scaler) picture() *image.RGBA {
	to := image.NewRGBA(image.Rect(0, 0, s.w, s.h))
	for y := range s.h {
		rows := uint32(firstPosition(y+1, s.height, s.h) - firstPosition(y, s.height, s.h))
		for x := range s.w {
			n := rows * uint32(firstPosition(x+1, s.width, s.w)-firstPosition(x, s.width, s.w))
			at := (y*s.w + x) * 4
			for i := range 4 {
				to.Pix[y*to.Stride+x*4+i] = uint8(s.sums[at+i] / n)
			}
		}
	}
	return to
}

// firstPosition is the first position on a line of length from that maps to position i of a line of length to.
func firstPosition(i, from, to int) int { return (i*from + to - 1) / to }
