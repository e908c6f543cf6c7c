/** A password: hidden, unless whoever types it wants to see it. */
import './password.css'
import { type InputHTMLAttributes, useState } from 'react'
import { words } from '../words/words.ts'
import { Input } from './form.tsx'

const { signIn } = words

export function PasswordInput(props: Omit<InputHTMLAttributes<HTMLInputElement>, 'type'>) {
  const [isShown, setShown] = useState(false)
  return (
    <div className="password">
      <Input {...props} type={isShown ? 'text' : 'password'} spellCheck={false} autoCapitalize="none" />
      <button
        type="button"
        aria-label={isShown ? signIn.hidePassword : signIn.showPassword}
        aria-controls={props.id}
        onClick={() => setShown(!isShown)}
      >
        {isShown ? signIn.hide : signIn.show}
      </button>
    </div>
  )
}
