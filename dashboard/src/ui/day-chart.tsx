/**
 * The frame of a chart over days or hours: axis, grid, cursor and tooltip. The caller draws the data.
 *
 * A day or hour is selected with the pointer or with the keyboard, through an invisible range input: arrows, Home, End, Page Up and
 * Page Down. The input announces the values of the day to screen readers. The chart is drawn at the measured width, not
 * scaled, so text keeps its size.
 */
import './chart.css'
import { type PointerEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react'

export type Scale = {
  /** The center of a day. */
  x: (index: number) => number
  /** The position of a value. Negative values are below the axis. */
  y: (value: number) => number
  /** The width of a day. */
  band: number
}

type DayChartProps = {
  label: string
  /** The labels of the days or hours. */
  days: readonly string[]
  /** Ticks of the axis from 0, above it and below it. */
  up: readonly number[]
  down?: readonly number[]
  /** Labels of the two sides of the axis. */
  sides?: { up: string; down: string }
  format: (value: number) => string
  height: number
  /** The values of a day as text, for screen readers. */
  describe: (index: number) => string
  /** The tooltip of a day. */
  tip: (index: number) => ReactNode
  children: (scale: Scale, index: number | null) => ReactNode
}

const margin = { top: 8, right: 4, bottom: 24 }
const labelWidth = 64
const characterWidth = 7
const sideWidth = 20
const tipGap = 20

export function DayChart(props: DayChartProps) {
  const { label, days, up, down = [], sides, format, height, describe, tip, children } = props
  const frame = useRef<HTMLDivElement>(null)
  const width = useWidth(frame)
  const [hovered, setHovered] = useState<number | null>(null)
  const [chosen, setChosen] = useState(days.length - 1)
  const [isFocused, setFocused] = useState(false)
  const last = days.length - 1
  const index = hovered ?? (isFocused ? Math.min(chosen, last) : null)

  const ticks = [...new Set([...up, ...down.map((value) => 0 - value)])]
  const left =
    10 + (sides ? sideWidth : 0) + characterWidth * Math.max(...ticks.map((value) => format(Math.abs(value)).length))
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
      className="chart-plot"
      style={{ height }}
      onPointerMove={follow}
      onPointerDown={follow}
      onPointerLeave={() => setHovered(null)}
    >
      {width > 0 && (
        <svg width={width} height={height} aria-hidden="true" focusable="false">
          {index !== null && (
            <rect
              className="chart-cursor"
              x={scale.x(index) - band / 2}
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
          {labeledDays(days, band).map((at) => (
            <DayLabel key={at} text={days[at] ?? ''} x={scale.x(at)} y={height - 6} width={width} />
          ))}
          {sides && (
            <>
              <Side y={scale.y(top / 2)}>{sides.up}</Side>
              <Side y={scale.y(-bottom / 2)}>{sides.down}</Side>
            </>
          )}
          {children(scale, index)}
        </svg>
      )}
      <input
        type="range"
        className="chart-keys"
        aria-label={label}
        min={0}
        max={last}
        step={1}
        value={Math.min(chosen, last)}
        aria-valuetext={describe(Math.min(chosen, last))}
        onChange={(event) => setChosen(Number(event.target.value))}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
      />
      {index !== null && width > 0 && (
        <Tip x={scale.x(index)} isLeft={index > last / 2} width={width}>
          {tip(index)}
        </Tip>
      )}
    </div>
  )
}

type LineProps = { values: readonly (number | null)[]; scale: Scale; activeIndex: number | null; mark?: string }

/** A line over consecutive days. Days without a value leave a gap; a single day is drawn as a point. */
export function Line({ values, scale: { x, y }, activeIndex, mark }: LineProps) {
  const points = values.flatMap((value, at) => (value === null ? [] : [{ at, x: x(at), y: y(value) }]))
  const path = points
    .map((point, at) => `${points[at - 1]?.at === point.at - 1 ? 'L' : 'M'}${point.x.toFixed(1)} ${point.y.toFixed(1)}`)
    .join('')
  const isIsolated = (at: number) =>
    points[at - 1]?.at !== (points[at]?.at ?? 0) - 1 && points[at + 1]?.at !== (points[at]?.at ?? 0) + 1
  return (
    <g className="chart-line" data-mark={mark}>
      <path d={path} />
      {points
        .filter(({ at }, index) => at === activeIndex || isIsolated(index))
        .map((point) => (
          <circle key={point.at} cx={point.x} cy={point.y} r={point.at === activeIndex ? 4 : 2.5} />
        ))}
    </g>
  )
}

type TipProps = { x: number; isLeft: boolean; width: number; children: ReactNode }

/** Placed beside its day, towards the center. Overlaps the day if there is no space. */
function Tip({ x, isLeft, width, children }: TipProps) {
  const ref = useRef<HTMLDivElement>(null)
  const [tipWidth, setTipWidth] = useState(0)
  useLayoutEffect(() => setTipWidth(ref.current?.offsetWidth ?? 0))
  const preferredLeft = isLeft ? x - tipGap - tipWidth : x + tipGap
  return (
    <div
      ref={ref}
      className="chart-tip small"
      aria-hidden="true"
      style={{ left: Math.max(0, Math.min(preferredLeft, width - tipWidth)) }}
    >
      {children}
    </div>
  )
}

type GridProps = { y: number; left: number; width: number; isZero: boolean; children: string }

const Grid = ({ y, left, width, isZero, children }: GridProps) => (
  <>
    <line
      className="chart-grid"
      data-zero={isZero ? '' : undefined}
      x1={left}
      x2={width}
      y1={Math.round(y) + 0.5}
      y2={Math.round(y) + 0.5}
    />
    <text className="chart-axis" x={left - 8} y={y + 4} textAnchor="end">
      {children}
    </text>
  </>
)

/** Centered below its day, but never beyond the right edge. */
function DayLabel({ text, x, y, width }: { text: string; x: number; y: number; width: number }) {
  const max = width - (text.length * characterWidth) / 2
  return (
    <text className="chart-axis" x={Math.min(x, max)} y={y} textAnchor="middle">
      {text}
    </text>
  )
}

const Side = ({ y, children }: { y: number; children: string }) => (
  <text className="chart-axis" transform={`translate(12 ${y}) rotate(-90)`} textAnchor="middle">
    {children}
  </text>
)

/** The indexes of the days with a label: the last day, and earlier days at the interval that fits. */
function labeledDays(days: readonly string[], band: number): number[] {
  const every = Math.max(1, Math.ceil(labelWidth / band))
  const half = labelWidth / 2 / band
  return days.map((_, at) => at).filter((at) => (days.length - 1 - at) % every === 0 && at + 0.5 >= half - 1)
}

/** The width of an element, updated on resize. */
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
