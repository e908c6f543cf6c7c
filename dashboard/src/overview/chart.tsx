/**
 * The frame of every chart over days: axis, grid, a line at the day that is
 * looked at and a tip beside it. Marks are drawn by the caller.
 *
 * A day is chosen with the pointer or, since there is a slider in front of the
 * drawing, with the keys of one: arrows, Home, End, Page Up and Down. The
 * slider says the day's numbers, so whoever hears the page walks over the days
 * too. Widths are measured, never scaled: text keeps its size.
 */
import { type PointerEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { shortDay } from './scale.ts'

export type Scale = {
  /** The middle of a day. */
  x: (place: number) => number
  /** Of a value; below zero is drawn downwards. */
  y: (value: number) => number
  /** The width of a day. */
  band: number
}

type PlotProps = {
  label: string
  days: readonly string[]
  /** Marks of the axis, from 0 upwards, and from 0 downwards where values go there. */
  up: readonly number[]
  down?: readonly number[]
  /** What lies above the line, and what below it. */
  sides?: { up: string; down: string }
  format: (value: number) => string
  height: number
  /** What a day says, in a sentence. */
  say: (place: number) => string
  /** What a day says, beside the pointer. */
  tip: (place: number) => ReactNode
  children: (scale: Scale, place: number | null) => ReactNode
}

const margin = { top: 8, right: 4, bottom: 24 }
const labelWidth = 64
const letterWidth = 7
const sideWidth = 20
const tipGap = 20

export function Plot({ label, days, up, down = [], sides, format, height, say, tip, children }: PlotProps) {
  const frame = useRef<HTMLDivElement>(null)
  const width = useWidth(frame)
  const [hovered, setHovered] = useState<number | null>(null)
  const [chosen, setChosen] = useState(days.length - 1)
  const [isFocused, setFocused] = useState(false)
  const last = days.length - 1
  const place = hovered ?? (isFocused ? Math.min(chosen, last) : null)

  const ticks = [...new Set([...up, ...down.map((value) => 0 - value)])]
  const left =
    10 + (sides ? sideWidth : 0) + letterWidth * Math.max(...ticks.map((value) => format(Math.abs(value)).length))
  const top = up.at(-1) ?? 1
  const bottom = down.at(-1) ?? 0
  const band = Math.max(1, (width - left - margin.right) / days.length)
  const inner = height - margin.top - margin.bottom
  const scale: Scale = {
    x: (at) => left + (at + 0.5) * band,
    y: (value) => margin.top + (inner * (top - value)) / (top + bottom),
    band,
  }
  const follow = (event: PointerEvent<HTMLElement>) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left
    setHovered(Math.min(last, Math.max(0, Math.floor((x - left) / band))))
  }
  return (
    <div
      ref={frame}
      className="overview-plot"
      style={{ height }}
      onPointerMove={follow}
      onPointerDown={follow}
      onPointerLeave={() => setHovered(null)}
    >
      {width > 0 && (
        <svg width={width} height={height} aria-hidden="true" focusable="false">
          {place !== null && (
            <rect
              className="overview-cursor"
              x={scale.x(place) - band / 2}
              y={margin.top}
              width={band}
              height={inner}
              rx="3"
            />
          )}
          {ticks.map((value) => (
            <Grid key={value} y={scale.y(value)} left={left} width={width} isZero={value === 0}>
              {format(Math.abs(value))}
            </Grid>
          ))}
          {labelled(days, band).map((at) => (
            <DayLabel key={at} day={days[at] ?? ''} x={scale.x(at)} y={height - 6} width={width} />
          ))}
          {sides && (
            <>
              <Side y={scale.y(top / 2)}>{sides.up}</Side>
              <Side y={scale.y(-bottom / 2)}>{sides.down}</Side>
            </>
          )}
          {children(scale, place)}
        </svg>
      )}
      <input
        type="range"
        className="overview-keys"
        aria-label={label}
        min={0}
        max={last}
        step={1}
        value={Math.min(chosen, last)}
        aria-valuetext={say(Math.min(chosen, last))}
        onChange={(event) => setChosen(Number(event.target.value))}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
      />
      {place !== null && width > 0 && (
        <Tip x={scale.x(place)} isLeft={place > last / 2} width={width}>
          {tip(place)}
        </Tip>
      )}
    </div>
  )
}

type TipProps = { x: number; isLeft: boolean; width: number; children: ReactNode }

/** Beside its day, towards the middle; where there is no room for that, over it. */
function Tip({ x, isLeft, width, children }: TipProps) {
  const ref = useRef<HTMLDivElement>(null)
  const [own, setOwn] = useState(0)
  useLayoutEffect(() => setOwn(ref.current?.offsetWidth ?? 0))
  const wanted = isLeft ? x - tipGap - own : x + tipGap
  return (
    <div
      ref={ref}
      className="overview-tip"
      aria-hidden="true"
      style={{ left: Math.max(0, Math.min(wanted, width - own)) }}
    >
      {children}
    </div>
  )
}

type GridProps = { y: number; left: number; width: number; isZero: boolean; children: string }

const Grid = ({ y, left, width, isZero, children }: GridProps) => (
  <>
    <line
      className="overview-grid"
      data-zero={isZero ? '' : undefined}
      x1={left}
      x2={width}
      y1={Math.round(y) + 0.5}
      y2={Math.round(y) + 0.5}
    />
    <text className="overview-axis" x={left - 8} y={y + 4} textAnchor="end">
      {children}
    </text>
  </>
)

/** Under its day, but never over the edge. */
function DayLabel({ day, x, y, width }: { day: string; x: number; y: number; width: number }) {
  const text = shortDay(day)
  const most = width - (text.length * letterWidth) / 2
  return (
    <text className="overview-axis" x={Math.min(x, most)} y={y} textAnchor="middle">
      {text}
    </text>
  )
}

const Side = ({ y, children }: { y: number; children: string }) => (
  <text className="overview-axis" transform={`translate(12 ${y}) rotate(-90)`} textAnchor="middle">
    {children}
  </text>
)

/** The days that are written under the axis: today, and back from it as often as there is room. */
function labelled(days: readonly string[], band: number): number[] {
  const every = Math.max(1, Math.ceil(labelWidth / band))
  const half = labelWidth / 2 / band
  return days.map((_, at) => at).filter((at) => (days.length - 1 - at) % every === 0 && at + 0.5 >= half - 1)
}

/** How wide an element is, kept true. */
function useWidth(ref: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = ref.current
    if (!element) return
    const measure = () => setWidth(element.clientWidth)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [ref])
  return width
}
