/** A password input with a button that shows and hides the password. */
import { type InputHTMLAttributes, useState } from 'react'
import { Input } from '../../../ui/controls.tsx'
import { words } from '../words/words.ts'

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
